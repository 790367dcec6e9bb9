#!/bin/sh
# Runs once, while the image is built: makes the repositories and all that webarena tells of.
set -eu
here=/opt/webarena
export LANG=C.UTF-8 RAILS_ENV=production X_DEBIAN_SITEID=default HOME=/tmp
data=/var/lib/redmine

pg_ctlcluster 15 main start
# One user reads and writes all of it; git would refuse what another one owns.
printf '[safe]\n\tdirectory = *\n' > /etc/gitconfig
for stream in "$here"/git/*; do
    bare=$data/git/$(basename "$stream").git
    git init -q -b main --bare "$bare"
    git --git-dir="$bare" fast-import --quiet < "$stream"
done
chown -R www-data: /etc/redmine/default $data /var/log/redmine /var/cache/redmine

cd /usr/share/redmine
bundle exec rails runner $here/fill.rb
cp $here/calendar.rb config/initializers/
chown -R www-data: $data /var/log/redmine /var/cache/redmine
pg_ctlcluster 15 main stop -m fast
chmod 755 $here/start
