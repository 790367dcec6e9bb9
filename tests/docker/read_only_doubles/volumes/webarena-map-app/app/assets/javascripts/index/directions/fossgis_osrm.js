var ends = {car: "__OSMCarSuffix__", bike: ":5001", foot: "__OSMFootSuffix__"};
