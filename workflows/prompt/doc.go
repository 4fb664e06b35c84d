// Package prompt makes the prompts of agents from templates: the built-in ones, or a
// project's own below .agentmux/prompts.
//
// A template has directives in double brackets, which insert a value, a fragment or a file of
// the session. They are read once, in the template alone: what is inserted stays as it is, so
// a text of a stranger can include and reveal nothing.
package prompt
