create table if not exists planet_osm_point (name text);
insert into planet_osm_point values ('Carnegie Mellon University');
