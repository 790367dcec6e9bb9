#!/bin/sh
# Runs once, while the image is built: installs the wiki, writes its pages, files and users.
set -eu
here=/opt/webarena
data=/var/lib/mediawiki-data
cd /usr/share/mediawiki
mkdir -p $data/cache
rm -f /var/lib/mediawiki/LocalSettings.php /etc/mediawiki/LocalSettings.php
php maintenance/install.php --confpath /etc/mediawiki --dbtype sqlite --dbpath $data --dbname wiki \
    --server http://wiki.test --scriptpath "" --lang en --pass copper-violin-31 --with-extensions \
    "Tarnmark Handbook" Admin >/dev/null
sed -i '/^\$wgSecretKey\|^\$wgUpgradeKey/d' /etc/mediawiki/LocalSettings.php
cat $here/settings.php >> /etc/mediawiki/LocalSettings.php
[ -e /var/lib/mediawiki/LocalSettings.php ] || ln -s /etc/mediawiki/LocalSettings.php /var/lib/mediawiki/

php $here/users.php
php maintenance/nukePage.php --quiet --delete "Main Page" >/dev/null # the installer's, which would stay the latest
php maintenance/importDump.php --quiet --username-prefix=imported $here/pages.xml
php maintenance/importImages.php --quiet --user="Leopold Finch" --comment="Arms of the towns, redrawn" \
    --timestamp=20250310090000 $here/files
# The pages of the files are as old as the files.
php maintenance/sql.php --query "UPDATE revision SET rev_timestamp = '20250310090000' WHERE rev_timestamp > '20250601000000'" >/dev/null
php maintenance/sql.php --query "UPDATE logging SET log_timestamp = '20250310090000'" >/dev/null
php maintenance/rebuildrecentchanges.php --quiet
php maintenance/initSiteStats.php --update >/dev/null
php maintenance/refreshLinks.php --quiet >/dev/null
php maintenance/rebuildtextindex.php --quiet >/dev/null
php maintenance/rebuildLocalisationCache.php --lang en --quiet >/dev/null
php maintenance/runJobs.php --quiet # last: none is left for the first visitor
# What says when it was made.
php maintenance/sql.php --query "UPDATE user SET user_registration = '20250101090000', user_touched = '20250101090000'" >/dev/null
php maintenance/sql.php --query "UPDATE page SET page_touched = '20250514090000', page_random = (page_id * 0.618034) - CAST(page_id * 0.618034 AS INTEGER)" >/dev/null
php maintenance/sql.php --query "DELETE FROM logging WHERE log_type IN ('newusers', 'import')" >/dev/null
php maintenance/sql.php --query "DELETE FROM objectcache" >/dev/null

chown -R www-data: $data /var/lib/mediawiki/images/
chmod 644 /etc/mediawiki/LocalSettings.php
cp $here/apache.conf /etc/apache2/sites-available/000-default.conf
a2enmod -q rewrite
a2disconf -q mediawiki || true
# Too few at the start stall first pages.
sed -i 's/StartServers.*/StartServers 4/;s/MinSpareServers.*/MinSpareServers 2/;s/MaxSpareServers.*/MaxSpareServers 6/' \
    /etc/apache2/mods-available/mpm_prefork.conf
chmod 755 $here/start

# What PHP has compiled is kept, for starts and first pages would compile all of it again; the visits leave no other trace.
compiled=/var/cache/webarena
mkdir -p $compiled
chown www-data: $compiled
echo "opcache.file_cache = $compiled" > /etc/php/8.2/apache2/conf.d/99-webarena.ini
cp -a $data /var/tmp/before
setsid $here/start & # a group of its own, all of which Apache ends
site=$!
php $here/visit.php
kill $site
wait $site || true
rm -rf $data
mv /var/tmp/before $data
