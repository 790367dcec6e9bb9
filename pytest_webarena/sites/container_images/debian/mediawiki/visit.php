<?php
/** Looks at what visitors look at, as nobody and signed in. */
require __DIR__ . '/visitor.php';
[ $name, $password ] = explode( "\t", file( __DIR__ . '/users.tsv' )[0] );
$visitor = new Visitor( 'wiki.test' );
$pages = [
	'/wiki/Main_Page', '/wiki/Dunmere', '/wiki/Talk:Dunmere', '/wiki/Category:Towns', '/index.php?title=Dunmere&action=history',
	'/wiki/Special:Search?search=mill', '/wiki/Special:RecentChanges', '/wiki/Special:WhatLinksHere/Dunmere',
	'/load.php?lang=en&modules=startup&only=scripts&raw=1&skin=vector', '/load.php?lang=en&modules=site.styles&only=styles&skin=vector',
	'/api.php?action=query&meta=siteinfo&format=json',
];
$visitor->see( ...$pages );
$form = $visitor->ask( '/wiki/Special:UserLogin' );
$visitor->ask( '/index.php?title=Special:UserLogin', [
	'wpName' => $name, 'wpPassword' => $password, 'wpLoginToken' => Visitor::field( $form, 'wpLoginToken' ),
	'authAction' => 'login', 'wploginattempt' => 'Log in',
] );
str_contains( (string)$visitor->ask( '/wiki/Special:Preferences' ), "\"wgUserName\":\"$name\"" ) || $visitor->end( "$name is not signed in" );
$visitor->see( ...$pages, ...[ '/wiki/Special:Watchlist', '/wiki/Special:Upload', '/wiki/Special:MovePage/Dunmere' ] );
$form = $visitor->ask( '/index.php?title=Visit&action=edit' );
$fields = [ 'wpTextbox1' => 'Seen.', 'wpSave' => 'Save' ];
foreach ( [ 'wpEditToken', 'wpStarttime', 'wpEdittime', 'editRevId', 'wpUltimateParam' ] as $field ) {
	$fields[$field] = Visitor::field( $form, $field );
}
$visitor->ask( '/index.php?title=Visit&action=submit', $fields );
$visitor->see( '/wiki/Visit' );
