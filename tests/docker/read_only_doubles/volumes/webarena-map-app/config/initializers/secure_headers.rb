SecureHeaders::Configuration.default do |config|
  config.csp = {
    :connect_src => %w['self'],
    :img_src => %w['self' data: www.gravatar.com],
  }
end
