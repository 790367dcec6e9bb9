create table users (name text);
insert into users values ('a mapper');
create table schema_migrations (version integer);
