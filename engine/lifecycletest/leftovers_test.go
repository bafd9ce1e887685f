package lifecycletest_test

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply/mark"
)

// What is left of a rule that is gone, or that is not for a parent any more, besides its
// children: nothing.

// idOf is the id of the rule in a slot, as it is called now.
func (m *model) idOf(slot string) string {
	return mark.RuleID(m.kanon, m.kanon, m.rules[slot].name)
}

// judgeRecords looks for records of rules that are not there any more.
func (m *model) judgeRecords(records map[string]bool) []string {
	var diff []string
	for slot, r := range m.rules {
		if slices.ContainsFunc(m.parentsOf(slot), func(p *parent) bool { return p.suspend }) {
			continue // what is left at it is to be cleared away still
		}
		if r.text == nil && r.deletes && m.pausedBeside(slot) {
			continue // what is deleted waits for the other rule
		}
		for _, name := range r.names {
			if name == r.name && r.text != nil {
				continue
			}
			if record := recordOf(mark.RuleID(m.kanon, m.kanon, name)); records[record] {
				diff = append(diff, fmt.Sprintf("rule %s is gone, and %s is there still", name, record))
			}
		}
	}
	return diff
}

// recordOf is the name of the ConfigMap with the record of a rule.
func recordOf(id string) string { return recordPrefix + id }

const recordPrefix = "kanon-state-"

// parentsOf lists the parents that there are of the kind which a slot is for.
func (m *model) parentsOf(slot string) []*parent {
	var found []*parent
	for _, p := range m.parents {
		if p != nil && p.id.kind == parentKind(slot) {
			found = append(found, p)
		}
	}
	return found
}

// marksOf lists what an object has of a rule's: field managers and annotations that carry
// its id.
func marksOf(obj *unstructured.Unstructured, id string) []string {
	var found []string
	for _, entry := range obj.GetManagedFields() {
		if strings.Contains(entry.Manager, id) {
			found = append(found, "the manager "+entry.Manager)
		}
	}
	for key := range obj.GetAnnotations() {
		if strings.Contains(key, id) {
			found = append(found, "the annotation "+key)
		}
	}
	return found
}

// judgeFreed looks at an object that was let go: of what made it a child nothing is left.
func judgeFreed(id identity, obj *unstructured.Unstructured) []string {
	var diff []string
	for key := range obj.GetLabels() {
		if strings.HasPrefix(key, "kanon.dev/") {
			diff = append(diff, fmt.Sprintf("%s was let go and has the label %s", id, key))
		}
	}
	for key := range obj.GetAnnotations() {
		if strings.HasPrefix(key, "kanon.dev/") && key != mark.AnnotationRetained {
			diff = append(diff, fmt.Sprintf("%s was let go and has the annotation %s", id, key))
		}
	}
	if len(obj.GetOwnerReferences()) > 0 {
		diff = append(diff, fmt.Sprintf("%s was let go and has an owner", id))
	}
	return diff
}
