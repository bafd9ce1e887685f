package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/author/live"
	"kanon.dev/kanon/author/live/livepreview"
	"kanon.dev/kanon/engine/identity"
)

// maxJudged bounds the parents for which readyWhen is evaluated, and the objects that are read for spec.parent.when, as
// each parent can take several requests. Other children are judged by their kind, and other parents by their
// conditions.
const maxJudged = 100

// judge sets the readiness of children whose node has a readyWhen, in the same way as Kanon and kanon trace, and marks
// the parents for which spec.parent.when is false.
func (g *Listing) judge(ctx context.Context, items []live.Item) error {
	isUnknown := g.rule.Decoded == nil || g.rule.State == live.Refused || g.rule.State == live.DefinitionHeld
	if isUnknown && g.noun == live.Children {
		g.note("READY goes by the kind of each child: readyWhen of rule %s is not known here, as %s", g.rule.Name, g.whyUnknown())
	}
	if isUnknown || len(items) == 0 || g.noun == live.Parents && g.rule.Decoded.Parent.When == nil {
		return nil
	}
	compiled, _, err := g.compiler.Compile(ctx, g.rule)
	if err != nil || compiled == nil {
		return err
	}
	previewer := livepreview.New(livepreview.Options{
		Client: g.Client, Kinds: g.kinds, Program: compiled, Namespace: g.Flags.KanonNamespace, Now: time.Now(),
	})
	if g.noun == live.Parents {
		return g.match(ctx, previewer, items)
	}
	byParent, left := make(map[types.UID][]*live.Item), 0
	for i := range items {
		child := &items[i]
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
		g.note("READY of %d children goes by their kind, as readyWhen is evaluated for %d parents at most; choose some with -n or -l", left, maxJudged)
	}
	for _, of := range byParent {
		if err := g.judgeOf(ctx, previewer, of); err != nil {
			return err
		}
	}
	return nil
}

// match marks the parents for which spec.parent.when is false.
func (g *Listing) match(ctx context.Context, previewer *livepreview.Previewer, parents []live.Item) error {
	objects := make([]*unstructured.Unstructured, len(parents))
	for i := range parents {
		objects[i] = parents[i].Object
	}
	matches, known, err := previewer.Matches(ctx, objects, maxJudged)
	switch {
	case apierrors.IsForbidden(err):
		g.note("parents for which spec.parent.when is false are not marked: %v", err)
		return nil
	case err != nil:
		return err
	case known < len(parents):
		g.note("spec.parent.when was evaluated for %d parents, as it reads an object for each; choose some with -n or -l", known)
	}
	for i, ok := range matches {
		if !ok && !parents[i].Suspended {
			parents[i].Unmatch()
		}
	}
	return nil
}

// whyUnknown says why the text of the running rule is unknown.
func (g *Listing) whyUnknown() string {
	switch {
	case g.rule.State == live.DefinitionHeld:
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
func (g *Listing) note(format string, args ...any) {
	if !g.noted && g.Printer.Format.IsTable() {
		g.noted = true
		_ = Warn(g.Notes, []string{fmt.Sprintf(format, args...)}) // not essential
	}
}

// judgeOf judges the children of one parent. If the parent does not exist, it does nothing.
func (g *Listing) judgeOf(ctx context.Context, previewer *livepreview.Previewer, children []*live.Item) error {
	parent, err := g.reader.Parent(ctx, g.rule, children[0].Owner.Parent)
	if err != nil || parent == nil {
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
