
$wgArticlePath = "/wiki/$1";
$wgUsePathInfo = true;
# Nothing leaves, nothing happens later or elsewhere.
$wgEnableEmail = false;
$wgPingback = false;
$wgJobRunRate = 1;
$wgRunJobsAsync = false;
$wgAllowExternalImages = false;
# All that a session is lives in the database, and so in the snapshot.
$wgMainCacheType = CACHE_ACCEL;
$wgSessionCacheType = CACHE_DB;
$wgCacheDirectory = "/var/lib/mediawiki-data/cache";
$wgSecretKey = "5f0d5a2c6c9b4d9c8f4f3c8c1f3b9f1d5f0d5a2c6c9b4d9c8f4f3c8c1f3b9f1d";
$wgUpgradeKey = "5f0d5a2c6c9b4d9c";
$wgEnableUploads = true;
$wgUseImageMagick = false;
$wgRightsText = "";
$wgLocaltimezone = "UTC";
$wgGroupPermissions['*']['edit'] = false;
$wgGroupPermissions['*']['createaccount'] = false;
$wgAutoConfirmAge = 0;
$wgAutoConfirmCount = 0;
$wgRateLimits = [];
$wgPasswordAttemptThrottle = [];
$wgDefaultUserOptions['visualeditor-hidebetawelcome'] = 1;
$wgDefaultUserOptions['watchdefault'] = 0;
$wgDefaultUserOptions['watchcreations'] = 0;
