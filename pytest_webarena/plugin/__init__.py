"""Everything that imports pytest. `entry` is loaded in every session, `hooks` once there are tasks or options of ours."""
