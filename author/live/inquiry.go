package live

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/author/explain"
	"kanon.dev/kanon/author/live/livepreview"
	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/patching"
	"kanon.dev/kanon/rules/program"
)

// Inquirer explains which rules write to objects. All fields are required.
type Inquirer struct {
	Reader   *Reader
	Compiler *Compiler
	// Rules are those that may write to objects.
	Rules *Rules
	Now   time.Time
}

// Explain explains why the fields of a live object have their values. The error reports a failed request.
func (q *Inquirer) Explain(ctx context.Context, live *unstructured.Unstructured) (*explain.Explanation, error) {
	found := &answer{}
	found.note(q.unknownOwner(live))
	for _, r := range q.Rules.All {
		if err := q.ask(ctx, r, live, found); err != nil {
			return nil, err
		}
	}
	if controller := metav1.GetControllerOfNoCopy(live); controller != nil && len(found.writings)+len(found.notes) == 0 {
		found.note(fmt.Sprintf("no rule writes to it; its controller is %s %s", controller.Kind, controller.Name))
	}
	e := explain.Explain(live, found.writings)
	e.Notes = found.notes
	return e, nil
}

// answer collects what is found about an object.
type answer struct {
	writings []explain.Writing
	notes    []string
}

func (a *answer) note(text string) {
	if text != "" && !slices.Contains(a.notes, text) {
		a.notes = append(a.notes, text)
	}
}

// ask finds what one rule writes to an object.
func (q *Inquirer) ask(ctx context.Context, r *Rule, live *unstructured.Unstructured, found *answer) error {
	selects := len((&Rules{All: []*Rule{r}}).Selecting(live, NamespaceLabels(ctx, q.Reader.Client))) > 0 && r.Decoded != nil
	switch written := hasMade(r, live) || len(patching.Patched(live, r.ID)) > 0 || r.wroteTo(live); {
	case !written && !selects:
		return nil
	case r.Decoded == nil:
		found.note(fmt.Sprintf("rule %s writes to it and is in the file %s, which only Kanon reads: give it with -f", r.Name, r.Source()))
		return nil
	}
	compiled, findings, err := q.Compiler.Compile(ctx, r)
	switch wrong := mistakes(findings); {
	case err != nil:
		found.note(err.Error())
		return nil
	case len(wrong) > 0:
		found.note(fmt.Sprintf("rule %s has mistakes, and Kanon may run an earlier revision of it: %s", r.Name, wrong[0]))
		return nil
	}
	parents, err := q.parents(ctx, r, compiled, live, found)
	if err != nil {
		return err
	}
	if selects {
		parents = slices.Insert(parents, 0, live)
	}
	previewer := livepreview.New(livepreview.Options{
		Client: q.Reader.Client, Kinds: q.Reader.Kinds, Program: compiled, Namespace: q.Compiler.Namespace, Now: q.Now,
	})
	seen := map[types.UID]bool{}
	for _, parent := range parents {
		if seen[parent.GetUID()] {
			continue
		}
		seen[parent.GetUID()] = true
		made, err := previewer.Preview(ctx, parent)
		if err != nil {
			return err
		}
		own := (&explain.Rule{Name: r.Name, ID: r.ID, Decoded: r.Decoded, Program: compiled, Preview: made.Preview}).Writings(live)
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

// unknownOwner is a note on the rule that made the object, if none of the known rules did; empty otherwise.
func (q *Inquirer) unknownOwner(live *unstructured.Unstructured) string {
	owner, ok := mark.ReadOwner(live)
	known := slices.ContainsFunc(q.Rules.All, func(r *Rule) bool { return r.ID == owner.RuleID })
	if !ok || known || owner.RuleID == "" || len(fieldset.OwnEntries(live)) == 0 {
		return "" // a copied mark: other controllers copy annotations
	}
	name := owner.RuleID
	if owner.Rule != "" {
		name = owner.Rule
	}
	return fmt.Sprintf("it is the child %s of rule %s, which is not installed: give its file with -f, and Kanon's namespace with --kanon-namespace", owner.Node, name)
}

// stalled is the condition Stalled that Kanon reports on a parent; empty if the parent is not stalled.
func stalled(parent *unstructured.Unstructured, prefix string) string {
	c := conditions.Find(parent, prefix+conditions.Stalled)
	if c == nil || c["status"] != "True" {
		return ""
	}
	return fmt.Sprintf("%s %s is stalled: %v: %v", parent.GetKind(), parent.GetName(), c["reason"], c["message"])
}

// maxPatching bounds how many parents are evaluated to find those that patch an object: each takes some requests.
const maxPatching = 200

// hasMade reports whether an object is a child of the rule, by its mark. Other controllers may copy a mark, but not the
// field manager.
func hasMade(r *Rule, live *unstructured.Unstructured) bool {
	owner, ok := mark.ReadOwner(live)
	return ok && owner.RuleID == r.ID && len(fieldset.OwnEntries(live)) > 0
}

// parents returns the parents, other than the object itself, for which the rule may write to an object; some of them
// twice. Anything else about them becomes a note.
func (q *Inquirer) parents(ctx context.Context, r *Rule, compiled *program.Program, live *unstructured.Unstructured, found *answer) (parents []*unstructured.Unstructured, err error) {
	if owner, _ := mark.ReadOwner(live); hasMade(r, live) {
		parent, err := q.Reader.Parent(ctx, r, owner.Parent)
		switch {
		case err != nil:
			return nil, err
		case parent != nil:
			parents = append(parents, parent)
		case owner.Parent.Name != "":
			found.note(fmt.Sprintf("it is the child %s of rule %s for %s, which is gone", owner.Node, r.Name, owner.Parent))
		}
	}
	if len(patching.Patched(live, r.ID)) == 0 {
		return parents, nil
	}
	namespace := ""
	if !slices.ContainsFunc(compiled.Patches, func(p *program.Patch) bool { return p.Target != nil && reachesFar(p.Target) }) {
		namespace = live.GetNamespace() // all patches target the parent's own namespace
	}
	patching, err := q.Reader.Items(ctx, r, Parents, Query{Namespace: namespace})
	if err != nil {
		return nil, err
	}
	if len(patching) > maxPatching {
		patching = patching[:maxPatching]
		found.note(fmt.Sprintf("rule %s has more than %d parents that may patch it: the others are left out", r.Name, maxPatching))
	}
	for _, item := range patching {
		parents = append(parents, item.Object)
	}
	return parents, nil
}

// reachesFar reports whether a patch can target another namespace than the parent's.
func reachesFar(target *program.Lookup) bool {
	return !target.Namespaced || target.AllNamespaces || target.NamespaceFrom != nil
}
