<?php
/** Writes what paper.json tells of, with its times. */
$_SERVER += [ 'HTTP_HOST' => 'courier.test', 'REQUEST_METHOD' => 'GET', 'SERVER_PROTOCOL' => 'HTTP/1.1', 'REMOTE_ADDR' => '127.0.0.1' ];
define( 'WP_INSTALLING', true );
require '/usr/share/wordpress/wp-load.php';
require_once ABSPATH . 'wp-admin/includes/upgrade.php';
require_once ABSPATH . 'wp-admin/includes/image.php';
require_once ABSPATH . 'wp-admin/includes/taxonomy.php';
function wp_mail() {
	return true;
}
$told = json_decode( file_get_contents( __DIR__ . '/paper.json' ), true );
$must = function ( $made ) {
	if ( is_wp_error( $made ) ) {
		fwrite( STDERR, $made->get_error_message() . "\n" );
		exit( 1 );
	}
	return $made;
};

wp_install( $told['title'], 'caretaker', 'caretaker@tarnmark.test', true, '', bin2hex( random_bytes( 16 ) ), '' );
foreach ( [ 1, 2, 3 ] as $sample ) {
	wp_delete_post( $sample, true );
}
$users = [];
foreach ( $told['people'] as $person ) {
	$names = explode( ' ', $person['name'], 2 );
	$id = $must( wp_insert_user( [
		'user_login' => $person['login'], 'user_pass' => $person['password'], 'user_email' => $person['mail'],
		'display_name' => $person['name'], 'first_name' => $names[0], 'last_name' => $names[1],
		'role' => $person['role'], 'user_registered' => '2024-06-01 08:00:00',
	] ) );
	// No guide covers the editor on the first visit.
	update_user_meta( $id, $wpdb->get_blog_prefix() . 'persisted_preferences', [
		'core/edit-post' => [ 'welcomeGuide' => false, 'fullscreenMode' => false ], '_modified' => '2025-05-01T00:00:00.000Z',
	] );
	update_user_meta( $id, 'show_welcome_panel', 0 );
	$users[ $person['login'] ] = $id;
}
$categories = [];
foreach ( $told['categories'] as $name ) {
	$categories[ $name ] = $must( wp_create_category( $name ) );
}
$block = fn( $text ) => "<!-- wp:paragraph -->\n<p>" . esc_html( $text ) . "</p>\n<!-- /wp:paragraph -->";
$pictures = [];
foreach ( glob( __DIR__ . '/media/*.png' ) as $path ) {
	$name = basename( $path );
	$target = WP_CONTENT_DIR . "/uploads/2025/03/$name";
	copy( $path, $target );
	$id = $must( wp_insert_attachment( [
		'post_title' => str_replace( '_', ' ', basename( $name, '.png' ) ), 'post_mime_type' => 'image/png', 'post_status' => 'inherit',
		'post_author' => $users['saoirse.quill'], 'post_date' => '2025-03-10 09:00:00', 'post_date_gmt' => '2025-03-10 09:00:00',
		'guid' => "http://courier.test/wp-content/uploads/2025/03/$name",
	], $target, 0, true ) );
	wp_update_attachment_metadata( $id, wp_generate_attachment_metadata( $id, $target ) );
	update_post_meta( $id, '_wp_attachment_image_alt', str_replace( '_', ' ', basename( $name, '.png' ) ) );
	$pictures[ $name ] = $id;
}
foreach ( $told['pages'] as $number => $page ) {
	$must( wp_insert_post( [
		'post_type' => 'page', 'post_title' => $page['title'], 'post_content' => $block( $page['text'] ), 'post_status' => 'publish',
		'post_author' => $users['felix.adeyinka'], 'menu_order' => $number, 'comment_status' => 'closed',
		'post_date' => '2024-06-01 09:00:00', 'post_date_gmt' => '2024-06-01 09:00:00',
	], true ) );
}
foreach ( $told['articles'] as $article ) {
	$id = $must( wp_insert_post( [
		'post_title' => $article['title'], 'post_content' => $block( $article['text'] ), 'post_status' => $article['state'],
		'post_author' => $users[ $article['author'] ], 'post_category' => [ $categories[ $article['category'] ] ],
		'tags_input' => $article['tags'], 'post_date' => $article['on'], 'post_date_gmt' => $article['on'], 'comment_status' => 'open',
		'ping_status' => 'closed',
	], true ) );
	if ( isset( $article['picture'] ) ) {
		set_post_thumbnail( $id, $pictures[ $article['picture'] ] );
	}
	foreach ( $article['comments'] as $comment ) {
		wp_insert_comment( [
			'comment_post_ID' => $id, 'comment_author' => $comment['who'], 'user_id' => $users[ $comment['login'] ] ?? 0,
			'comment_author_email' => '', 'comment_content' => $comment['text'], 'comment_approved' => $comment['state'],
			'comment_date' => $comment['on'], 'comment_date_gmt' => $comment['on'],
		] );
	}
}
$wpdb->query( "UPDATE $wpdb->posts SET post_modified = post_date, post_modified_gmt = post_date_gmt" );
foreach ( [
	'blogdescription' => 'Twice a week since 1891', 'permalink_structure' => '/%postname%/', 'show_avatars' => 0, 'timezone_string' => 'UTC',
	'date_format' => 'Y-m-d', 'time_format' => 'H:i', 'default_pingback_flag' => 0, 'default_ping_status' => 'closed',
	'comments_notify' => 0, 'moderation_notify' => 0, 'comment_previously_approved' => 0, 'comment_moderation' => 0,
	'posts_per_page' => 10, 'admin_email_lifespan' => PHP_INT_MAX, 'users_can_register' => 0,
	'default_category' => $categories['People'],
] as $name => $value ) {
	update_option( $name, $value );
}
switch_theme( 'twentytwentyone' );
// Nothing is looked for elsewhere: no version, no plugin, no picture of the day.
foreach ( _get_cron_array() as $time => $hooks ) {
	foreach ( array_keys( $hooks ) as $hook ) {
		wp_clear_scheduled_hook( $hook );
	}
}
flush_rewrite_rules();
printf( "%d articles, %d comments, %d pictures\n", wp_count_posts()->publish, wp_count_comments()->all, count( $pictures ) );
