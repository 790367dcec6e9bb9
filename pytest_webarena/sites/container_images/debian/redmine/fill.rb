# Writes what works.json tells of. Rows of which there are hundreds go in at once, with their times; nothing sends mail.
require 'json'

here = '/opt/webarena'
told = JSON.parse(File.read("#{here}/works.json"))
EPOCH = Time.utc(2025, 5, 13, 18)
ActionMailer::Base.perform_deliveries = false

{ host_name: 'tracker.test', protocol: 'http', app_title: 'Tarnmark Works', rest_api_enabled: '1', gravatar_enabled: '0',
  autologin: '0', self_registration: '0', lost_password: '0', notified_events: [], default_language: 'en', ui_theme: '',
  text_formatting: 'textile', attachment_max_size: '5120', welcome_text: 'The *works office* of Tarnmark keeps its lists here.',
  time_format: '%H:%M', date_format: '%Y-%m-%d', force_default_language_for_anonymous: '1',
  sys_api_enabled: '0', mail_from: 'works@tarnmark.test' }
  .each { |name, value| Setting[name] = value }
# Nobody reads the key words that ask for more than is wanted here.
Setting.commit_update_keywords = []

ids = told['people'].to_h do |person|
  first, _, last = person['name'].rpartition(' ')
  user = User.new(firstname: first, lastname: last, mail: person['mail'], language: 'en', mail_notification: 'none')
  user.login = person['login']
  user.password = user.password_confirmation = person['password']
  user.admin = person['login'] == told['administrator']
  user.created_on = user.updated_on = Time.utc(2024, 8, 1, 9)
  user.save!
  user.pref.update!(time_zone: 'UTC', hide_mail: true, no_self_notified: '1')
  [person['login'], user.id]
end
people = User.where(id: ids.values).index_by(&:login)
# The one that Redmine makes by itself: nobody knows its password.
User.find_by(login: 'admin').update_columns(status: User::STATUS_LOCKED, admin: false)
boss = people.fetch(told['administrator'])
Token.create!(user: boss, action: 'api').update_columns(value: told['api_key'])
User.current = boss

trackers = Tracker.all.index_by(&:name)
statuses = IssueStatus.all.index_by(&:name)
priorities = IssuePriority.all.index_by(&:name)
roles = Role.all.index_by(&:name)
activities = TimeEntryActivity.all.to_a
cost = IssueCustomField.create!(name: 'Cost (crowns)', field_format: 'int', is_for_all: true, is_filter: true,
                                trackers: trackers.values)

categories = {}
versions = {}
projects = told['projects'].to_h do |project|
  made = Project.create!(name: project['name'], identifier: project['key'], description: project['about'],
                         is_public: project['public'], trackers: trackers.values,
                         enabled_module_names: %w[issue_tracking time_tracking news files wiki repository calendar gantt boards])
  project['members'].each { |login, role| Member.create!(principal: people[login], project: made, roles: [roles.fetch(role)]) }
  project['categories'].each { |name| categories[[project['key'], name]] = IssueCategory.create!(project: made, name: name).id }
  project['versions'].each do |version|
    row = Version.create!(project: made, name: version['name'], effective_date: version['due'])
    row.update_columns(status: version['status'], created_on: EPOCH, updated_on: EPOCH)
    versions[[project['key'], version['name']]] = row.id
  end
  wiki = made.wiki
  project['wiki'].each_with_index do |page, number|
    row = wiki.pages.find_by(title: page['title']) || WikiPage.new(wiki: wiki, title: page['title'])
    page['texts'].each_with_index do |text, version|
      row.content ||= WikiContent.new(page: row)
      row.content.attributes = { text: text, author: people[page['author']], comments: version.zero? ? '' : 'The new sum' }
      row.new_record? ? row.save_with_content(row.content) || raise(row.errors.full_messages.to_s) : row.content.save!
    end
    written = Time.utc(2024, 9, 10 + number, 9)
    row.update_columns(created_on: written)
    row.content.update_columns(updated_on: written)
    row.content.versions.each_with_index { |old, at| old.update_columns(updated_on: written + at.weeks) }
  end
  project['news'].each do |news|
    row = News.create!(project: made, title: news['title'], summary: news['summary'], description: news['text'],
                       author: people[news['author']])
    news['comments'].each { |login, text| Comment.create!(commented: row, author: people[login], comments: text) }
    row.update_columns(created_on: news['on'])
    row.comments.update_all(created_on: news['on'], updated_on: news['on'])
  end
  Dir["#{here}/files/#{project['key']}/*"].sort.each do |path|
    row = Attachment.create!(container: made, file: File.open(path), filename: File.basename(path), author: people[project['members'][0][0]],
                             content_type: path.end_with?('.csv') ? 'text/csv' : 'text/plain')
    row.update_columns(created_on: Time.utc(2025, 3, 10, 9))
  end
  board = Board.create!(project: made, name: 'Talk', description: 'For what is no issue')
  message = Message.create!(board: board, subject: 'Who has the van on Friday?', author: people[project['members'][1][0]],
                            content: 'I need it from eight to ten.')
  message.update_columns(created_on: Time.utc(2025, 5, 2, 9), updated_on: Time.utc(2025, 5, 2, 9))
  made.update_columns(created_on: Time.utc(2024, 8, 20, 9), updated_on: Time.utc(2024, 8, 20, 9))
  [project['key'], made]
end

Issue.insert_all!(told['issues'].map do |issue|
  key = issue['project']
  { id: issue['id'], root_id: issue['id'], lft: 1, rgt: 2, project_id: projects[key].id, lock_version: 0,
    tracker_id: trackers.fetch(issue['tracker']).id, status_id: statuses.fetch(issue['status']).id,
    priority_id: priorities.fetch(issue['priority']).id, subject: issue['subject'], description: issue['description'],
    category_id: categories[[key, issue['category']]], author_id: ids.fetch(issue['author']),
    assigned_to_id: ids[issue['assignee']], fixed_version_id: versions[[key, issue['version']]],
    start_date: issue['start'], due_date: issue['due'], done_ratio: issue['done'], estimated_hours: issue['hours'],
    is_private: issue['private'], created_on: issue['created'], updated_on: issue['updated'], closed_on: issue['closed'] }
end)
Issue.connection.reset_pk_sequence!('issues')
CustomValue.insert_all!(told['issues'].map do |issue|
  { customized_type: 'Issue', customized_id: issue['id'], custom_field_id: cost.id, value: issue['cost'].to_s }
end)
Watcher.insert_all!(told['issues'].flat_map do |issue|
  issue['watchers'].map { |login| { watchable_type: 'Issue', watchable_id: issue['id'], user_id: ids.fetch(login) } }
end)
Journal.insert_all!(told['notes'].each_with_index.map do |note, number|
  { id: number + 1, journalized_type: 'Issue', journalized_id: note['issue'], user_id: ids.fetch(note['author']),
    notes: note['text'], created_on: note['on'], private_notes: false }
end)
Journal.connection.reset_pk_sequence!('journals')
JournalDetail.insert_all!(told['notes'].each_with_index.select { |note, _| note['to'] }.map do |note, number|
  { journal_id: number + 1, property: 'attr', prop_key: 'status_id', old_value: statuses.fetch('New').id.to_s,
    value: statuses.fetch(note['to']).id.to_s }
end)
by_id = Issue.all.index_by(&:id)
TimeEntry.insert_all!(told['hours'].each_with_index.map do |row, number|
  on = Date.parse(row['on'])
  { project_id: by_id[row['issue']].project_id, issue_id: row['issue'], user_id: ids.fetch(row['user']), author_id: ids.fetch(row['user']),
    hours: row['hours'], comments: row['comment'], activity_id: activities[number % activities.size].id, spent_on: on,
    tyear: on.year, tmonth: on.month, tweek: on.cweek, created_on: on, updated_on: on }
end)
IssueRelation.insert_all!(told['relations'].map do |row|
  { issue_from_id: row['from'], issue_to_id: row['to'], relation_type: row['type'], delay: nil }
end)

projects.each do |key, project|
  Repository::Git.create!(project: project, url: "/var/lib/redmine/git/#{key}.git", identifier: 'plans', is_default: true)
                 .fetch_changesets
end
# Open issues that nobody has: everybody may use this list.
IssueQuery.create!(name: 'Open, nobody has it', user: boss, visibility: Query::VISIBILITY_PUBLIC,
                   filters: { 'status_id' => { operator: 'o', values: [''] }, 'assigned_to_id' => { operator: '!*', values: [''] } })
Token.where(action: %w[session feeds]).delete_all
puts "#{Project.count} projects, #{Issue.count} issues, #{Changeset.count} commits, #{User.count} users"
