// Package modeltest is the service behind a coding-agent CLI, for tests: an HTTP server on
// loopback that speaks the Anthropic Messages, OpenAI Responses, OpenAI Chat Completions and
// Gemini APIs and answers what a script says instead of asking a model. With it the real programs run without a login, a network or a person.
//
// The server keeps no conversation. Which script serves is decided by the texts of the
// person in the request, and which of its steps by how many tool results follow the last
// of them, so that a program may be killed, resumed or retried at any moment. Only how
// often a fault was answered is counted, see Step.Times.
//
// Requests that programs make beside the conversation (titles, quota probes, summaries by
// a small model) offer no tools and get a harmless answer. Everything that was asked is on
// record, see Server.Requests.
package modeltest
