<?php
/** Looks at what visitors look at, as nobody and signed in. */
require __DIR__ . '/visitor.php';
$editors = array_filter( json_decode( file_get_contents( __DIR__ . '/paper.json' ), true )['people'], fn ( $one ) => $one['role'] === 'editor' );
$editor = reset( $editors );
$visitor = new Visitor( 'courier.test', [ 'wordpress_test_cookie' => 'WP Cookie check' ] );
$visitor->see( '/', '/?s=mill', '/a-morning-at-hale-clocks/', '/feed/', '/wp-login.php', '/wp-json/wp/v2/posts' );
$visitor->ask( '/wp-login.php', [ 'log' => $editor['login'], 'pwd' => $editor['password'], 'testcookie' => '1' ] );
str_contains( (string)$visitor->ask( '/wp-admin/profile.php' ), $editor['login'] ) || $visitor->end( "{$editor['login']} is not signed in" );
$visitor->see(
	'/', '/a-morning-at-hale-clocks/', '/wp-admin/', '/wp-admin/edit.php', '/wp-admin/post-new.php', '/wp-admin/edit-comments.php',
	'/wp-admin/upload.php', '/wp-admin/media-new.php', '/wp-admin/edit-tags.php?taxonomy=category', '/wp-admin/edit.php?post_type=page'
);
