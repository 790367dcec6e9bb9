// Loaded into Playwright's driver before anything of its own.
//
// An answer that JSON has no form for (a value with a circle, from a page's database; a text beyond all bounds) would be
// an exception that nobody catches: the driver would end, and every page with it. Here it becomes an answer that says so.
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
