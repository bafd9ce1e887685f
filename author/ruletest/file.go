package ruletest

import (
	"time"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/yamltree"
)

// File is a decoded test file.
type File struct {
	Path string
	// Rule is the file with the rule, relative to the file's directory. RuleName is the rule's name; it may be empty if
	// there is only one rule.
	Rule, RuleName string
	// Schemas are files with CustomResourceDefinitions. nil: those in the file's directory.
	Schemas []string
	// Now is the time at which cases start.
	Now     time.Time
	Parent  object
	Cluster []object
	// Findings are the expected codes of findings in the rule. nil: no errors, and any warnings.
	Findings *expected[[]string]
	Cases    []Case

	source *yamltree.Source
	data   []byte
}

// Case is one test: a parent or several, and steps that run one after the other.
type Case struct {
	Name string
	// Parents are laid over the file's parent, one each; nil if the case has one parent.
	Parents []expected[map[string]any]
	Cluster []object
	Now     time.Time
	Steps   []Step
	at      diagnostic.Position
}

// Step makes changes, and states what to expect afterwards. The changes are made in the order of the fields.
type Step struct {
	Name string
	// Parent is merged into the parent, and each of Set into the object that it names; null removes a field.
	Parent map[string]any
	Set    []object
	// Ready, Failed and Delete name objects: parent, the id of a child, an item such as job[1], a kind, or KIND/NAME.
	Ready, Failed, Delete []string
	After                 time.Duration
	Expect                Expect
	at                    diagnostic.Position
}

// object is an inline object, or the file with objects.
type object struct {
	fields map[string]any
	file   string
	at     diagnostic.Position
}

// expected is an expected value, with its position in the test file.
type expected[T any] struct {
	want T
	at   diagnostic.Position
}

// Expect is what a step expects. Nil fields expect nothing.
type Expect struct {
	// Parents has what is expected of each parent, by its name; for a case with several, which has these, Objects and
	// Refused.
	Parents map[string]expected[Expect]
	// Children has, by the id of a child, fields of its objects: a mapping, null for no object, or a list with all
	// objects. Exactly is the same, but must have all fields of the objects.
	Children, Exactly map[string]expected[any]
	// Objects have fields of other objects, each with kind and name.
	Objects []expected[map[string]any]
	// Parent has fields of the parent; null: it is deleted. Status has fields of its status.
	Parent, Status *expected[any]
	// Conditions has, by type, the status of a condition, or a mapping with status, reason and part of the message.
	Conditions map[string]expected[any]
	// Waiting and Failing have, by the id of a child or a patch, part of the message.
	Waiting, Failing map[string]expected[string]
	Skipped          []expected[string]
	// Events are the reasons of the emitted Events, in order. The other fields list objects as KIND/NAME.
	Events, Created, Updated, Deleted, Recreated *expected[[]string]
	// Refused are parts of the message with which the API server refuses a change of the step.
	Refused *expected[[]string]
	// That are CEL expressions that must be true.
	That []expected[string]
	// Output is the output of kanon render.
	Output *expected[string]
	// outputKey is the node of the key of Output, for update.go.
	outputKey *yamltree.Node
}
