package syntax

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/language"
	"kanon.dev/kanon/rules/naming"
	"kanon.dev/kanon/rules/scanner"
	"kanon.dev/kanon/rules/yamltree"
)

// Condition is one item of spec.conditions.
type Condition struct {
	Type  string
	Pos   diagnostic.Position // of the type
	Index int
	// Each is nil if it is missing or has a mistake.
	Status, Reason, Message *yamltree.Node
	Gaps                    Gaps
}

// Event is one item of spec.events.
type Event struct {
	Index int
	Type  string
	// Each is nil if it is missing or has a mistake.
	When, Reason, Message *yamltree.Node
	Gaps                  Gaps
}

// eventNormal is the default type of an event.
const eventNormal = "Normal"

func (d *decoder) conditions(n *yamltree.Node) []Condition {
	var out []Condition
	for i, item := range d.list(n, "spec.conditions") {
		out = append(out, d.condition(item, i, out))
	}
	return out
}

func (d *decoder) condition(n *yamltree.Node, index int, before []Condition) Condition {
	path := fmt.Sprintf("spec.conditions[%d]", index)
	c := Condition{Index: index, Pos: d.src.At(n)}
	c.Gaps = d.object(n, path, language.Condition(), decoders{
		"type": func(n *yamltree.Node) {
			c.Pos = d.src.At(n)
			typ, ok := d.plainString(n, path+".type")
			if !ok {
				return
			}
			if wrong := validation.IsQualifiedName(typ); len(wrong) > 0 {
				d.report(n, diagnostic.CodeConditionType, "%s.type: %q is not a type that conditions can have", path, typ).
					WithHint("write letters and digits, as in %s", "DatabaseReady")
				return
			}
			if first := slices.IndexFunc(before, func(o Condition) bool { return o.Type == typ }); first >= 0 {
				d.report(n, diagnostic.CodeNameTwice, "two conditions have the type %q", typ).WithRelated(before[first].Pos, "the first one")
			}
			c.Type = typ
		},
		"status": func(n *yamltree.Node) { c.Status = d.conditionStatus(n, path+".status") },
		"reason": func(n *yamltree.Node) { c.Reason = d.reason(n, path+".reason", naming.MaxConditionReason) },
		"message": func(n *yamltree.Node) {
			c.Message = d.templateText(n, path+".message")
		},
	})
	return c
}

// conditionStatus decodes the status of a condition. YAML reads True and False as booleans, which are accepted.
func (d *decoder) conditionStatus(n *yamltree.Node, path string) *yamltree.Node {
	_, isBool := n.Value.(bool)
	text, _ := n.Text()
	if n.Kind == yamltree.Scalar && (isBool || scanner.HasExpression(text) || IsConditionStatus(text)) {
		return n
	}
	d.report(n, diagnostic.CodeNotOneOf, `%s must be True, False or Unknown, or an expression that gives one of these, true or false; it is %s`, path, shown(n)).
		Suggest(text, language.Condition().Words("status"))
	return nil
}

// IsConditionStatus reports whether text is a status that a condition can have.
func IsConditionStatus(s string) bool {
	return slices.Contains(language.Condition().Words("status"), s)
}

// reason decodes a reason, and checks it if it is constant.
func (d *decoder) reason(n *yamltree.Node, path string, longest int) *yamltree.Node {
	if d.templateText(n, path) == nil {
		return nil
	}
	if text, _ := n.Text(); !scanner.HasExpression(text) {
		if wrong := naming.WrongReason(text, longest); wrong != "" {
			f := d.report(n, diagnostic.CodeReason, "%s %s, and is %q", path, wrong, text)
			f.WithHint(`write a word such as "Available"`)
			if name := naming.CamelCase(text); name != "" {
				f.WithHint("write %q", name)
				f.WithEdit(f.Position, text, name)
			}
			return nil
		}
	}
	return n
}

// templateText decodes a string that may have expressions. It is nil after a finding.
func (d *decoder) templateText(n *yamltree.Node, path string) *yamltree.Node {
	if _, ok := n.Text(); !ok {
		f := d.report(n, diagnostic.CodeFieldType, "%s must be a string, and is %s", path, n.What())
		if !strings.HasSuffix(path, ".reason") { // which is a word
			SuggestQuotes(f, n)
		}
		return nil
	}
	return n
}

func (d *decoder) events(n *yamltree.Node) []Event {
	var out []Event
	for i, item := range d.list(n, "spec.events") {
		out = append(out, d.event(item, i))
	}
	return out
}

func (d *decoder) event(n *yamltree.Node, index int) Event {
	path := fmt.Sprintf("spec.events[%d]", index)
	e := Event{Index: index, Type: eventNormal}
	e.Gaps = d.object(n, path, language.Event(), decoders{
		"when":    func(n *yamltree.Node) { e.When = d.expression(n, path+".when") },
		"type":    func(n *yamltree.Node) { e.Type = d.word(n, path+".type", language.Event().Words("type")) },
		"reason":  func(n *yamltree.Node) { e.Reason = d.reason(n, path+".reason", naming.MaxEventReason) },
		"message": func(n *yamltree.Node) { e.Message = d.templateText(n, path+".message") },
	})
	return e
}
