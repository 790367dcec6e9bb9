<?php
/** Makes an account for each line of the file users.tsv: name, password and group, between tabs. */
require_once '/usr/share/mediawiki/maintenance/Maintenance.php';

use MediaWiki\MediaWikiServices;

class AddUsers extends Maintenance {
	public function execute() {
		$groups = MediaWikiServices::getInstance()->getUserGroupManager();
		foreach ( file( __DIR__ . '/users.tsv', FILE_IGNORE_NEW_LINES ) as $line ) {
			[ $name, $password, $group ] = explode( "\t", $line );
			$user = User::newFromName( $name );
			$user->addToDatabase();
			$status = $user->changeAuthenticationData(
				[ 'username' => $name, 'password' => $password, 'retype' => $password ]
			);
			if ( !$status->isGood() ) {
				$this->fatalError( "$name: " . $status->getWikiText( false, false, 'en' ) );
			}
			if ( $group !== '' ) {
				$groups->addUserToGroup( $user, $group );
			}
		}
	}
}

$maintClass = AddUsers::class;
require_once RUN_MAINTENANCE_IF_MAIN;
