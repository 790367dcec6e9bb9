<?php
/** Opens pages of the site that runs here, as a browser would: what PHP compiles for them is kept in the image. */
class Visitor {
	private $cookies = [];

	public function __construct( private string $host, array $cookies = [] ) {
		$this->cookies = $cookies;
		// It has just been started.
		for ( $tries = 0; $this->ask( '/' ) === null; $tries++ ) {
			$tries < 600 || $this->end( 'nobody answers' );
			usleep( 200000 );
		}
	}

	/** The page at a path, or what follows a form that is sent there; null without an answer, or with an error of the server. */
	public function ask( string $path, array $form = [] ): ?string {
		$cookie = http_build_query( $this->cookies, '', '; ', PHP_QUERY_RFC3986 );
		$how = [ 'header' => "Host: $this->host\r\nCookie: $cookie\r\n", 'follow_location' => 0, 'ignore_errors' => true, 'timeout' => 300 ];
		if ( $form ) {
			$how['header'] .= "Content-Type: application/x-www-form-urlencoded\r\n";
			$how += [ 'method' => 'POST', 'content' => http_build_query( $form ) ];
		}
		$text = @file_get_contents( "http://127.0.0.1$path", false, stream_context_create( [ 'http' => $how ] ) );
		foreach ( $http_response_header ?? [] as $line ) {
			if ( preg_match( '/^Set-Cookie: ([^=]+)=([^;]*)/i', $line, $found ) ) {
				$this->cookies[$found[1]] = urldecode( $found[2] );
			}
		}
		return preg_match( '/ [1-4]\d\d /', $http_response_header[0] ?? '' ) ? (string)$text : null;
	}

	/** Opens pages, which have to be there. */
	public function see( string ...$paths ): void {
		foreach ( $paths as $path ) {
			$this->ask( $path ) !== null || $this->end( "$path can't be opened" );
		}
	}

	/** The value of a field in a page's form. */
	public static function field( ?string $page, string $name ): string {
		preg_match( '/<input[^>]*name="' . preg_quote( $name, '/' ) . '"[^>]*>/', $page, $tag );
		preg_match( '/value="([^"]*)"/', $tag[0] ?? '', $value );
		return html_entity_decode( $value[1] ?? '' );
	}

	/** The build fails. */
	public function end( string $why ): void {
		fwrite( STDERR, "$this->host: $why\n" );
		exit( 1 );
	}
}
