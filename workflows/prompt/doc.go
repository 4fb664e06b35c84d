// Package prompt makes the prompts of agents from templates: the built-in ones, or a
// project's own below .agentmux/prompts.
//
// A template has directives in double brackets, which insert a value, a fragment or a file of
// the session. Only the template is scanned for them, once. Inserted text stays as it is, so
// a text of a stranger cannot include or reveal anything.
package prompt
