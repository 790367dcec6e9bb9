// Loaded into Playwright's driver before its own code.
//
// An answer that can't be serialised as JSON (a circular value from a page's database; an excessively long text) would
// throw an exception that nothing catches: the driver would exit, and all pages with it. Here it becomes an error
// answer.
'use strict'
const stringify = JSON.stringify
JSON.stringify = function (value, ...rest) {
  try {
    return stringify(value, ...rest)
  } catch (error) {
    if (!value || value.id === undefined || !('result' in value)) throw error
    const message = `what was asked for can't be handed over: ${String(error.message).split('\n')[0]}`
    return stringify({ id: value.id, error: { error: { name: 'Error', message } } })
  }
}
