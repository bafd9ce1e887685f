package ruletest

import (
	"time"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/yamltree"
)

// File is a decoded file with tests.
type File struct {
	Path string
	// Rule is the file that holds the rule, relative to the file's directory, and RuleName the rule's name; empty: there is one.
	Rule, RuleName string
	// Schemas are files with definitions. nil: those in the file's directory.
	Schemas []string
	// Now is the time at which cases begin.
	Now     time.Time
	Parent  object
	Cluster []object
	// Findings are the codes that the rule gives. nil: no errors, and any warnings.
	Findings *expected[[]string]
	Cases    []Case

	source *yamltree.Source
	data   []byte
}

// Case is one test: a parent, and steps that change the world, one after the other.
type Case struct {
	Name    string
	Cluster []object
	Now     time.Time
	Steps   []Step
	at      diagnostic.Position
}

// Step changes the world and says what comes out then. The changes happen in the order of the fields.
type Step struct {
	Name string
	// Parent is laid over the parent, Set over the objects that it names; null removes a field.
	Parent map[string]any
	Set    []object
	// Ready, Failed and Delete name objects: parent, the id of a child, a kind, or KIND/NAME.
	Ready, Failed, Delete []string
	After                 time.Duration
	Expect                Expect
	at                    diagnostic.Position
}

// object is an object that is written out, or the file that holds it.
type object struct {
	fields map[string]any
	file   string
	at     diagnostic.Position
}

// expected is a value that a test wants, and where it stands.
type expected[T any] struct {
	want T
	at   diagnostic.Position
}

// Expect is what a step wants. A nil field wants nothing.
type Expect struct {
	// Children has, by the id of a child, fields of its objects: a mapping, null for no object, or a list for all objects. Exactly
	// has all fields.
	Children, Exactly map[string]expected[any]
	// Objects are fields of other objects, each with apiVersion, kind and name.
	Objects []expected[map[string]any]
	// Parent has fields of the parent; null: it is gone. Status is the same for its status.
	Parent, Status *expected[any]
	// Conditions has, by type, the status of a condition, or a mapping with status, reason and a part of the message.
	Conditions map[string]expected[any]
	// Waiting and Failing have, by the id of a child or a patch, a part of the message.
	Waiting, Failing map[string]expected[string]
	Skipped          []expected[string]
	// Events are the reasons of those that were emitted, in order. The others are objects, as KIND/NAME.
	Events, Created, Updated, Deleted, Recreated *expected[[]string]
	// Refused are parts of the message with which the API server refuses a change of the step.
	Refused *expected[[]string]
	// That are CEL expressions that are true.
	That []expected[string]
	// Output is what kanon render prints.
	Output *expected[string]
	// outputKey is the node of the key of Output, which update.go rewrites.
	outputKey *yamltree.Node
}
