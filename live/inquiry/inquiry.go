package inquiry

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/live/livepreview"
	"kanon.dev/kanon/live/ruleset"
	"kanon.dev/kanon/offline/provenance"
	"kanon.dev/kanon/rules/program"
)

// Options are what an Inquirer needs. All fields are required.
type Options struct {
	Client dynamic.Interface
	Kinds  livepreview.Kinds
	// Rules are those that may write to objects.
	Rules *ruleset.Set
	// Namespace is Kanon's own.
	Namespace string
	Now       time.Time
}

// Inquirer explains which rules write to objects.
type Inquirer struct{ Options }

// New makes an Inquirer. It sends no request.
func New(o Options) *Inquirer { return &Inquirer{Options: o} }

// Explain explains why the fields of a live object have their values. The error reports a failed request.
func (q *Inquirer) Explain(ctx context.Context, live *unstructured.Unstructured) (*provenance.Explanation, error) {
	found := &answer{}
	found.note(q.unknownOwner(live))
	for _, r := range q.Rules.All() {
		if err := q.ask(ctx, r, live, found); err != nil {
			return nil, err
		}
	}
	if len(found.writings)+len(found.notes) == 0 {
		found.note(controlledBy(live))
	}
	e := provenance.Explain(live, found.writings)
	e.Notes = found.notes
	return e, nil
}

// answer collects what is found about an object.
type answer struct {
	writings []provenance.Writing
	notes    []string
}

func (a *answer) note(text string) {
	if text != "" && !slices.Contains(a.notes, text) {
		a.notes = append(a.notes, text)
	}
}

// ask finds what one rule writes to an object.
func (q *Inquirer) ask(ctx context.Context, r *ruleset.Rule, live *unstructured.Unstructured, found *answer) error {
	switch left := hasWritten(r, live); {
	case !left && !maySelect(ctx, q.Client, r, live):
		return nil
	case r.Decoded == nil:
		found.note(fmt.Sprintf("rule %s writes to it and is in the file %s, which only Kanon reads: give it with -f", r.Name, r.Source()))
		return nil
	}
	compiled, mistakes, err := r.Program(ctx)
	switch {
	case err != nil:
		found.note(err.Error())
		return nil
	case len(mistakes) > 0:
		found.note(fmt.Sprintf("rule %s has mistakes, and Kanon may run an earlier revision of it: %s", r.Name, mistakes[0]))
		return nil
	}
	parents, err := q.parents(ctx, r, compiled, live, found)
	if err != nil {
		return err
	}
	for _, parent := range parents {
		made, err := q.evaluate(ctx, r, compiled, parent)
		if err != nil {
			return err
		}
		own := made.Writings(live)
		found.writings = append(found.writings, own...)
		switch {
		case len(own) > 0:
			found.note(stalled(parent, r.Decoded.ConditionPrefix))
		case parent == live:
			found.note(fmt.Sprintf("it is a parent of rule %s, which writes nothing to it", r.Name))
		}
	}
	return nil
}

// evaluate evaluates a rule for a parent with the objects of the cluster.
func (q *Inquirer) evaluate(ctx context.Context, r *ruleset.Rule, compiled *program.Program, parent *unstructured.Unstructured) (*provenance.Rule, error) {
	previewer := livepreview.New(livepreview.Options{Client: q.Client, Kinds: q.Kinds, Program: compiled, Namespace: q.Namespace, Now: q.Now})
	found, err := previewer.Preview(ctx, parent)
	if err != nil {
		return nil, err
	}
	return &provenance.Rule{Name: r.Name, ID: r.ID, Decoded: r.Decoded, Program: compiled, Preview: found.Preview}, nil
}

// unknownOwner is a note on the rule that made the object, if none of the known rules did; empty otherwise.
func (q *Inquirer) unknownOwner(live *unstructured.Unstructured) string {
	owner, ok := mark.ReadOwner(live)
	known := slices.ContainsFunc(q.Rules.All(), func(r *ruleset.Rule) bool { return r.ID == owner.RuleID })
	if !ok || known || owner.RuleID == "" || len(fieldset.OwnEntries(live)) == 0 {
		return "" // a copied mark: other controllers copy annotations
	}
	name := owner.RuleID
	if owner.Rule != "" {
		name = owner.Rule
	}
	return fmt.Sprintf("it is the child %s of rule %s, which is not installed: give its file with -f, and Kanon's namespace with --kanon-namespace", owner.Node, name)
}

// controlledBy is a note on the controller of an object that no rule writes to; empty if it has none.
func controlledBy(live *unstructured.Unstructured) string {
	controller := metav1.GetControllerOfNoCopy(live)
	if controller == nil {
		return ""
	}
	return fmt.Sprintf("no rule writes to it; its controller is %s %s", controller.Kind, controller.Name)
}

// stalled is the condition Stalled that Kanon reports on a parent; empty if the parent is not stalled.
func stalled(parent *unstructured.Unstructured, prefix string) string {
	c := conditions.Find(parent, prefix+conditions.Stalled)
	if c == nil || c["status"] != "True" {
		return ""
	}
	return fmt.Sprintf("%s %s is stalled: %v: %v", parent.GetKind(), parent.GetName(), c["reason"], c["message"])
}
