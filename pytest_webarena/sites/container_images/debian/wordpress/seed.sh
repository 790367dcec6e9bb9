#!/bin/sh
# Runs once, while the image is built: makes the database, and all that webarena tells of.
set -eu
here=/opt/webarena
content=/var/lib/wordpress/wp-content
cat > /etc/mysql/mariadb.conf.d/90-small.cnf <<'C'
[mysqld]
innodb_buffer_pool_size = 32M
innodb_log_file_size = 8M
# What is lost when the machine stops is of no value.
innodb_flush_log_at_trx_commit = 0
innodb_doublewrite = 0
skip-name-resolve
performance_schema = OFF
C
mkdir -p /run/mysqld
chown mysql: /run/mysqld
[ -d /var/lib/mysql/mysql ] || mariadb-install-db --user=mysql >/dev/null
/usr/sbin/mariadbd --user=mysql >/tmp/mariadb.log 2>&1 &
waited=0
until mariadb-admin ping >/dev/null 2>&1; do
    waited=$((waited + 1))
    [ $waited -lt 300 ] || { cat /tmp/mariadb.log; exit 1; }
    sleep 0.2
done
mariadb -e "CREATE DATABASE wordpress CHARACTER SET utf8mb4; GRANT ALL ON wordpress.* TO wordpress@localhost IDENTIFIED BY 'wordpress';"

cp $here/config.php /etc/wordpress/config-default.php
mkdir -p $content/uploads/2025/03
php $here/fill.php

cp $here/apache.conf /etc/apache2/sites-available/000-default.conf
a2enmod -q rewrite
# Too few at the start stall first pages.
sed -i 's/StartServers.*/StartServers 4/;s/MinSpareServers.*/MinSpareServers 2/;s/MaxSpareServers.*/MaxSpareServers 6/' \
    /etc/apache2/mods-available/mpm_prefork.conf
chown -R www-data: /var/lib/wordpress
mariadb-admin shutdown
wait
chmod 755 $here/start

# What PHP has compiled is kept, for starts and first pages would compile all of it again; the visits leave no other trace.
compiled=/var/cache/webarena
mkdir -p $compiled
chown www-data: $compiled
echo "opcache.file_cache = $compiled" > /etc/php/8.2/apache2/conf.d/99-webarena.ini
cp -a /var/lib/mysql /var/tmp/before
setsid $here/start & # a group of its own, all of which Apache ends
site=$!
php $here/visit.php
kill $site
wait $site || true
rm -rf /var/lib/mysql
mv /var/tmp/before /var/lib/mysql
