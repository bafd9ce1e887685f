// Package restmapping tells what the API server has: which resource serves a
// kind, in which scope, with which verbs and subresources. It learns by discovery
// and answers from memory.
package restmapping
