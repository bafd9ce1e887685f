package inventory

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/cmd/kanon/internal/terminal"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/live/installed"
	"kanon.dev/kanon/live/livepreview"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/program/template"
)

// maxJudged bounds the parents for which readyWhen is evaluated, and the objects that are read for spec.parent.when, as
// each parent can take several requests. Other children are judged by their kind, and other parents by their
// conditions.
const maxJudged = 100

// judge sets the readiness of children whose node has a readyWhen, in the same way as Kanon and kanon trace.
func (g *Listing) judge(ctx context.Context, children []installed.Child) error {
	compiled, err := g.withReadyWhen(ctx)
	if err != nil || compiled == nil {
		return err
	}
	byParent, left := make(map[types.UID][]*installed.Child), 0
	for i := range children {
		child := &children[i]
		at, ok := compiled.ByID[child.Owner.Node]
		if !ok || compiled.Children[at].ReadyWhen == nil || child.Object.GetDeletionTimestamp() != nil {
			continue
		}
		if uid := child.Owner.Parent.UID; byParent[uid] != nil || len(byParent) < maxJudged {
			byParent[uid] = append(byParent[uid], child)
		} else {
			left++
		}
	}
	if left > 0 {
		g.note(fmt.Sprintf("READY of %d children goes by their kind, as readyWhen is evaluated for %d parents at most; choose some with -n or -l", left, maxJudged))
	}
	previewer := g.previewer(compiled)
	for _, of := range byParent {
		if err := g.judgeOf(ctx, previewer, compiled, of); err != nil {
			return err
		}
	}
	return nil
}

// withReadyWhen is the compiled rule; nil if no child has a readyWhen, or if the rule that runs is unknown or has
// errors.
func (g *Listing) withReadyWhen(ctx context.Context) (*program.Program, error) {
	if g.isUnknown() {
		g.note(fmt.Sprintf("READY goes by the kind of each child: readyWhen of rule %s is not known here, as %s", g.rule.Name, g.whyUnknown()))
		return nil, nil
	}
	compiled, err := g.compile(ctx)
	if err != nil || compiled == nil || !slices.ContainsFunc(compiled.Children, func(c *program.Child) bool { return c.ReadyWhen != nil }) {
		return nil, err
	}
	return compiled, nil
}

// match marks the parents for which spec.parent.when is false.
func (g *Listing) match(ctx context.Context, parents []installed.Parent) error {
	if g.isUnknown() || g.rule.Decoded.Parent.When == nil || len(parents) == 0 {
		return nil
	}
	compiled, err := g.compile(ctx)
	if err != nil || compiled == nil {
		return err
	}
	objects := make([]*unstructured.Unstructured, len(parents))
	for i := range parents {
		objects[i] = parents[i].Object
	}
	matches, known, err := g.previewer(compiled).Matches(ctx, objects, maxJudged)
	switch {
	case apierrors.IsForbidden(err):
		g.note(fmt.Sprintf("parents for which spec.parent.when is false are not marked: %v", err))
		return nil
	case err != nil:
		return err
	case known < len(parents):
		g.note(fmt.Sprintf("spec.parent.when was evaluated for %d parents, as it reads an object for each; choose some with -n or -l", known))
	}
	for i, ok := range matches {
		if !ok && !parents[i].Suspended {
			parents[i].Unmatch()
		}
	}
	return nil
}

// isUnknown reports whether the text of the running rule is unknown.
func (g *Listing) isUnknown() bool {
	return g.rule.Decoded == nil || g.rule.State == installed.Refused || g.rule.State == installed.DefinitionHeld
}

// compile is the compiled rule; nil if its text has errors.
func (g *Listing) compile(ctx context.Context) (*program.Program, error) {
	if g.compiled {
		return g.program, nil
	}
	compiled, _, err := g.rule.Compile(ctx, g.kinds, g.kanonNamespace(), template.Limits{})
	if err != nil {
		return nil, err
	}
	g.program, g.compiled = compiled, true
	return compiled, nil
}

// previewer evaluates the rule for parents in the cluster.
func (g *Listing) previewer(compiled *program.Program) *livepreview.Previewer {
	return livepreview.New(livepreview.Options{
		Client: g.Client, Kinds: g.kinds, Program: compiled, Namespace: g.kanonNamespace(), Now: time.Now(),
	})
}

// whyUnknown says why the text of the running rule is unknown.
func (g *Listing) whyUnknown() string {
	switch {
	case g.rule.State == installed.DefinitionHeld:
		return "Kanon has not applied a change of its kind's definition, so that an earlier text may run"
	case g.rule.Decoded != nil:
		return "its text has mistakes, so that an earlier one may run"
	case g.rule.Origin.Path != "":
		return "only Kanon reads the file " + g.rule.Origin.Path
	default:
		return "its text is gone"
	}
}

// note prints a message about what a table does not show. Only the first message is printed.
func (g *Listing) note(text string) {
	if g.noted || !g.Printer.Format.IsTable() {
		return
	}
	g.noted = true
	_ = terminal.Warn(g.Notes, []string{text}) // not essential
}

// judgeOf judges the children of one parent. If the parent does not exist, it does nothing.
func (g *Listing) judgeOf(ctx context.Context, previewer *livepreview.Previewer, compiled *program.Program, children []*installed.Child) error {
	ref := children[0].Owner.Parent
	resource, err := g.reader.Resource(compiled.Parent.GVK, ref.Namespace)
	if err != nil {
		return err
	}
	parent, err := resource.Get(ctx, ref.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), err == nil && parent.GetUID() != ref.UID:
		return nil
	case err != nil:
		return err
	}
	made, err := previewer.Preview(ctx, parent)
	if err != nil {
		return err
	}
	for _, child := range children {
		if problem, known := made.NotReady(identity.Of(child.Object)); known {
			child.Judge(made.Secrets.Text(strings.TrimPrefix(problem.Path+": "+problem.Text(), ": ")))
		}
	}
	return nil
}
