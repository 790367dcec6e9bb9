#!/bin/sh
# Runs once, while the image is built: makes the database with Redmine's own tables and defaults. Slow, and the same for any content.
set -eu
export LANG=C.UTF-8 RAILS_ENV=production X_DEBIAN_SITEID=default HOME=/tmp REDMINE_LANG=en
data=/var/lib/redmine

cat > /etc/postgresql/15/main/conf.d/small.conf <<'C'
# What is lost when the machine stops is of no value.
fsync = off
synchronous_commit = off
full_page_writes = off
shared_buffers = 32MB
max_connections = 30
autovacuum = off
C
pg_ctlcluster 15 main start
setpriv --reuid=postgres --regid=postgres --init-groups psql -q <<'C'
CREATE ROLE redmine LOGIN PASSWORD 'redmine';
CREATE DATABASE redmine OWNER redmine ENCODING 'UTF8' TEMPLATE template0;
C
mkdir -p /etc/redmine/default $data/default/files $data/default/public/plugin_assets $data/git \
    /var/log/redmine/default /var/cache/redmine/default
cat > /etc/redmine/default/database.yml <<'C'
production:
  adapter: postgresql
  database: redmine
  host: localhost
  username: redmine
  password: redmine
  encoding: utf8
C
printf %s 9c3b7d41f0e85a26c7d94b1e0f63a8529c3b7d41f0e85a26c7d94b1e0f63a852 > /etc/redmine/default/secret_key.txt

cd /usr/share/redmine
# What Ruby has compiled is kept: starts would compile all of it each time.
echo "gem 'bootsnap', require: false" >> Gemfile
sed -i "/bundler.setup/a require 'bootsnap'\nBootsnap.setup(cache_dir: '/var/cache/redmine/bootsnap', development_mode: false)" \
    config/boot.rb
bundle exec rake db:migrate >/dev/null
bundle exec rake redmine:load_default_data >/dev/null
pg_ctlcluster 15 main stop -m fast
