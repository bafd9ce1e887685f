package inquiry

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/installed"
	"kanon.dev/kanon/livepreview"
	"kanon.dev/kanon/manifests"
	"kanon.dev/kanon/provenance"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/program/template"
	"kanon.dev/kanon/rules/syntax"
)

// Options are what an Inquirer works with. All fields are needed.
type Options struct {
	Client dynamic.Interface
	Kinds  *manifests.Kinds
	// Namespace is Kanon's own.
	Namespace string
	Now       time.Time
}

// Inquirer knows the rules that may write to objects.
type Inquirer struct {
	Options
	rules []*rule
}

// rule is a rule that may write to an object.
type rule struct {
	name types.NamespacedName
	id   string
	// decoded is nil if only Kanon has the text; where says where it is then.
	decoded *syntax.Rule
	where   string
	compile func(ctx context.Context) (*program.Program, error)
}

// New makes an Inquirer without rules.
func New(o Options) *Inquirer { return &Inquirer{Options: o} }

// AddInstalled adds the rules of a cluster.
func (q *Inquirer) AddInstalled(all *installed.Rules, limits template.Limits) {
	for _, r := range all.All {
		q.add(&rule{name: r.Name, id: r.ID, decoded: r.Decoded, where: r.Source(), compile: func(ctx context.Context) (*program.Program, error) {
			compiled, findings, err := r.Compile(ctx, q.Kinds, q.Namespace, limits)
			if err == nil && compiled == nil {
				err = fmt.Errorf("rule %s has mistakes, and Kanon may run an earlier revision of it: %s", r.Name, findings[0])
			}
			return compiled, err
		}})
	}
}

// AddFiles adds rules in files. One that is installed as well counts as it is in the file.
func (q *Inquirer) AddFiles(checked *manifests.Checked) {
	for i, decoded := range checked.Decoded {
		name := types.NamespacedName{Namespace: cmp.Or(decoded.Namespace, q.Namespace), Name: decoded.Name}
		id := mark.RuleID(q.Namespace, name.Namespace, name.Name)
		q.rules = slices.DeleteFunc(q.rules, func(r *rule) bool { return r.id == id })
		q.add(&rule{name: name, id: id, decoded: decoded, compile: func(context.Context) (*program.Program, error) { return checked.Programs[i], nil }})
	}
}

func (q *Inquirer) add(r *rule) { q.rules = append(q.rules, r) }

// Explain says why the fields of an object of the cluster have their values. The error says that the API server could not be asked.
func (q *Inquirer) Explain(ctx context.Context, live *unstructured.Unstructured) (*provenance.Explanation, error) {
	found := &answer{}
	found.note(q.unknownOwner(live))
	for _, r := range q.rules {
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

// answer is what was found about an object.
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
func (q *Inquirer) ask(ctx context.Context, r *rule, live *unstructured.Unstructured, found *answer) error {
	switch left := r.hasWritten(live); {
	case !left && !r.maySelect(ctx, q.Client, live):
		return nil
	case r.decoded == nil:
		found.note(fmt.Sprintf("rule %s writes to it and is in the file %s, which only Kanon reads: give it with -f", r.name, r.where))
		return nil
	}
	compiled, err := r.compile(ctx)
	if err != nil {
		found.note(err.Error())
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
			found.note(stalled(parent, r.decoded.ConditionPrefix))
		case parent == live:
			found.note(fmt.Sprintf("it is a parent of rule %s, which writes nothing to it", r.name))
		}
	}
	return nil
}

// evaluate evaluates a rule for a parent with the objects of the cluster.
func (q *Inquirer) evaluate(ctx context.Context, r *rule, compiled *program.Program, parent *unstructured.Unstructured) (*provenance.Rule, error) {
	previewer := livepreview.New(livepreview.Options{Client: q.Client, Kinds: q.Kinds, Program: compiled, Namespace: q.Namespace, Now: q.Now})
	found, err := previewer.Preview(ctx, parent)
	if err != nil {
		return nil, err
	}
	return &provenance.Rule{Name: r.name, ID: r.id, Decoded: r.decoded, Program: compiled, Preview: found.Preview}, nil
}

// unknownOwner says which rule made the object, if it is none of those that are known.
func (q *Inquirer) unknownOwner(live *unstructured.Unstructured) string {
	owner, ok := mark.ReadOwner(live)
	known := slices.ContainsFunc(q.rules, func(r *rule) bool { return r.id == owner.RuleID })
	if !ok || known || owner.RuleID == "" || len(fieldset.OwnEntries(live)) == 0 {
		return "" // other controllers copy annotations
	}
	name := owner.RuleID
	if owner.Rule != "" {
		name = owner.Rule
	}
	return fmt.Sprintf("it is the child %s of rule %s, which is not installed: give its file with -f, and Kanon's namespace with --kanon-namespace", owner.Node, name)
}

// controlledBy names the object that controls one which no rule writes; empty if none does.
func controlledBy(live *unstructured.Unstructured) string {
	controller := metav1.GetControllerOfNoCopy(live)
	if controller == nil {
		return ""
	}
	return fmt.Sprintf("no rule writes to it; its controller is %s %s", controller.Kind, controller.Name)
}

// stalled is what Kanon reports on a parent if it has stopped to write for it; empty if not.
func stalled(parent *unstructured.Unstructured, prefix string) string {
	c := conditions.Find(parent, prefix+conditions.Stalled)
	if c == nil || c["status"] != "True" {
		return ""
	}
	return fmt.Sprintf("%s %s is stalled: %v: %v", parent.GetKind(), parent.GetName(), c["reason"], c["message"])
}
