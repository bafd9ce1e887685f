// Package rules reads Kanon's rules, compiles them and evaluates them. It has
// no client, no log and no clock of its own.
package rules
