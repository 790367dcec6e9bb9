"""Everything that imports pytest: `entry` in every session, the rest once there are tasks or options of ours."""
