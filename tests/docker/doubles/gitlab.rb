external_url 'http://metis.lti.cs.cmu.edu:8023'
gitlab_rails['time_zone'] = 'UTC'
