package inquiry

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/apply/patchset"
	"kanon.dev/kanon/live/installed"
	"kanon.dev/kanon/live/ruleset"
	"kanon.dev/kanon/rules/program"
)

// maxPatching bounds how many parents are evaluated to find those that patch an object: each takes some requests.
const maxPatching = 200

// hasWritten reports whether an object has a mark or a field manager of the rule.
func hasWritten(r *ruleset.Rule, live *unstructured.Unstructured) bool {
	return hasMade(r, live) || len(patchset.Patched(live, r.ID)) > 0 || len(fieldset.EntriesOf(live)) > 0 && fieldset.IsManaged(live, r.ID)
}

// hasMade reports whether an object is a child of the rule, by its mark. Other controllers may copy a mark, but not the
// field manager.
func hasMade(r *ruleset.Rule, live *unstructured.Unstructured) bool {
	owner, ok := mark.ReadOwner(live)
	return ok && owner.RuleID == r.ID && len(fieldset.OwnEntries(live)) > 0
}

// maySelect reports whether an object may be a parent of the rule.
func maySelect(ctx context.Context, client dynamic.Interface, r *ruleset.Rule, live *unstructured.Unstructured) bool {
	return r.Decoded != nil && r.Decoded.Parent.GVK.GroupKind() == live.GroupVersionKind().GroupKind() &&
		r.Decoded.MaySelect(live, installed.NamespaceLabels(ctx, client))
}

// parents returns the parents for which the rule may write to an object. Anything else about them becomes a note.
func (q *Inquirer) parents(ctx context.Context, r *ruleset.Rule, compiled *program.Program, live *unstructured.Unstructured, found *answer) (parents []*unstructured.Unstructured, err error) {
	if maySelect(ctx, q.Client, r, live) {
		parents = append(parents, live)
	}
	if hasMade(r, live) {
		owner, _ := mark.ReadOwner(live)
		parent, err := q.read(ctx, compiled, owner.Parent)
		switch {
		case err != nil:
			return nil, err
		case parent != nil:
			parents = append(parents, parent)
		case owner.Parent.Name != "":
			found.note(fmt.Sprintf("it is the child %s of rule %s for %s, which is gone", owner.Node, r.Name, owner.Parent))
		}
	}
	if len(patchset.Patched(live, r.ID)) > 0 {
		patching, beyond, err := q.patching(ctx, r, compiled, live)
		if err != nil {
			return nil, err
		}
		if parents = append(parents, patching...); beyond {
			found.note(fmt.Sprintf("rule %s has more than %d parents that may patch it: the others are left out", r.Name, maxPatching))
		}
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(parents, func(p *unstructured.Unstructured) bool {
		again := seen[string(p.GetUID())]
		seen[string(p.GetUID())] = true
		return again
	}), nil
}

// resource returns the client for the parents of a rule in a namespace.
func (q *Inquirer) resource(compiled *program.Program, namespace string) (dynamic.ResourceInterface, error) {
	gvk := compiled.Parent.GVK
	gvr, ok := q.Kinds.Resource(gvk)
	if !ok {
		return nil, installed.NoKind(gvk)
	}
	if !compiled.Parent.Namespaced || namespace == "" {
		return q.Client.Resource(gvr), nil
	}
	return q.Client.Resource(gvr).Namespace(namespace), nil
}

// read reads the parent that a mark names; nil if it is gone.
func (q *Inquirer) read(ctx context.Context, compiled *program.Program, ref mark.Ref) (*unstructured.Unstructured, error) {
	resource, err := q.resource(compiled, ref.Namespace)
	if err != nil || ref.Name == "" {
		return nil, err
	}
	parent, err := resource.Get(ctx, ref.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), err == nil && ref.UID != "" && parent.GetUID() != ref.UID:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("get %s: %w", ref, err)
	}
	return parent, nil
}

// patching returns the parents of a rule that may patch an object. beyond is true if there are more than maxPatching.
func (q *Inquirer) patching(ctx context.Context, r *ruleset.Rule, compiled *program.Program, live *unstructured.Unstructured) (all []*unstructured.Unstructured, beyond bool, err error) {
	namespace := ""
	if !slices.ContainsFunc(compiled.Patches, func(p *program.Patch) bool { return p.Target != nil && reachesFar(p.Target) }) {
		namespace = live.GetNamespace() // all patches target the parent's own namespace
	}
	resource, err := q.resource(compiled, namespace)
	if err != nil {
		return nil, false, err
	}
	options := metav1.ListOptions{}
	if compiled.Parent.Selector != nil {
		options.LabelSelector = compiled.Parent.Selector.String()
	}
	list, err := resource.List(ctx, options)
	if err != nil {
		return nil, false, fmt.Errorf("list %s: %w", compiled.Parent.GVK.Kind, err)
	}
	for i := range list.Items {
		if !maySelect(ctx, q.Client, r, &list.Items[i]) {
			continue
		}
		if len(all) == maxPatching {
			return all, true, nil
		}
		all = append(all, &list.Items[i])
	}
	return all, false, nil
}

// reachesFar reports whether a patch can target another namespace than the parent's.
func reachesFar(target *program.Lookup) bool {
	return !target.Namespaced || target.AllNamespaces || target.NamespaceFrom != nil
}
