package livediff

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/record"
	"kanon.dev/kanon/preview"
	"kanon.dev/kanon/rules/program"
)

// gathered are objects of the cluster, read once each.
type gathered struct {
	d       *Differ
	ctx     context.Context //nolint:containedctx // preview asks for lookups in the middle of an evaluation, which takes no context
	objects map[identity.ID]*unstructured.Unstructured
	// owned are those that the rule created for the parent.
	owned map[identity.ID]bool
	// asked are those that were asked for, whether they exist or not.
	asked   map[identity.ID]bool
	queries map[string][]*unstructured.Unstructured
	err     error
}

// client is for the objects of a kind in a namespace; false if the cluster does not have the kind.
func (d *Differ) client(gvk schema.GroupVersionKind, namespace string) (dynamic.ResourceInterface, bool) {
	gvr, ok := d.options.Kinds.Resource(gvk)
	if !ok {
		return nil, false
	}
	if kind, _ := d.options.Kinds.Lookup(gvk); !kind.Namespaced || namespace == "" {
		return d.options.Client.Resource(gvr), true
	}
	return d.options.Client.Resource(gvr).Namespace(namespace), true
}

// evaluate previews the rule with what the cluster has: the parent's children first, then the objects that have the names of what
// is rendered, until no new name comes up.
func (d *Differ) evaluate(ctx context.Context, parent *unstructured.Unstructured) (*preview.Preview, *gathered, error) {
	g := &gathered{
		d: d, ctx: ctx, objects: map[identity.ID]*unstructured.Unstructured{}, owned: map[identity.ID]bool{}, asked: map[identity.ID]bool{},
		queries: map[string][]*unstructured.Unstructured{},
	}
	if err := g.children(parent); err != nil {
		return nil, nil, err
	}
	if d.options.Program.Parent.NamespaceSelector != nil {
		g.read(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, "", parent.GetNamespace())
	}
	for {
		in := preview.Input{
			Program: d.options.Program, Parent: parent, Now: d.options.Now, Namespace: d.options.Namespace, Lookup: g.lookup,
		}
		for _, object := range g.objects {
			in.With = append(in.With, object)
		}
		p := preview.Evaluate(ctx, in)
		before := len(g.asked)
		for _, object := range renderedBy(p) {
			g.read(object.GroupVersionKind(), object.GetNamespace(), object.GetName())
		}
		if g.err != nil {
			return nil, nil, g.err
		}
		if len(g.asked) == before {
			return p, g, nil
		}
	}
}

// renderedBy lists all objects that a preview names.
func renderedBy(p *preview.Preview) []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, node := range p.Nodes {
		for _, object := range node.Objects {
			all = append(all, object.Unstructured)
		}
		for _, kept := range node.Kept {
			all = append(all, kept.Object)
		}
		for _, refused := range node.Refused {
			all = append(all, refused.Object)
		}
	}
	return all
}

// children reads the objects of the rule's kinds that have its label, and keeps those of the parent.
func (g *gathered) children(parent *unstructured.Unstructured) error {
	kinds, err := g.d.childKinds(g.ctx)
	if err != nil {
		return err
	}
	for gvk := range kinds {
		client, ok := g.d.client(gvk, "")
		if !ok {
			continue // it waits for its kind
		}
		list, err := client.List(g.ctx, metav1.ListOptions{LabelSelector: mark.LabelRule + "=" + g.d.ruleID})
		if err != nil {
			return fmt.Errorf("list %s: %w", gvk.Kind, err)
		}
		for i := range list.Items {
			object := &list.Items[i]
			if owner, ok := mark.ReadOwner(object); ok && owner.Parent.UID == parent.GetUID() || metav1.IsControlledBy(object, parent) {
				id := identity.Of(object)
				g.objects[id], g.owned[id], g.asked[id] = object, true, true
			}
		}
	}
	return nil
}

// childKinds are the kinds of children that the rule has, and those that it had: its record says so. Without the right to read the
// record, those are not known.
func (d *Differ) childKinds(ctx context.Context) (map[schema.GroupVersionKind]bool, error) {
	kinds := map[schema.GroupVersionKind]bool{}
	for _, child := range d.options.Program.Children {
		kinds[child.GVK] = true
	}
	stored, err := d.options.Client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).
		Namespace(d.options.Namespace).Get(ctx, record.NamePrefix+d.ruleID, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return kinds, nil
	case err != nil:
		return nil, fmt.Errorf("read the rule's record: %w", err)
	}
	text, _, _ := unstructured.NestedString(stored.Object, "data", "record")
	var r record.Record
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return kinds, nil //nolint:nilerr // a record that Kanon did not write says nothing
	}
	for _, kind := range r.Children {
		kinds[kind.GVK()] = true
	}
	return kinds, nil
}

// read reads one object, if it was not yet.
func (g *gathered) read(gvk schema.GroupVersionKind, namespace, name string) {
	id := identity.ID{GroupKind: gvk.GroupKind()}
	id.Namespace, id.Name = namespace, name
	if g.asked[id] || g.err != nil || name == "" {
		return
	}
	g.asked[id] = true
	client, ok := g.d.client(gvk, namespace)
	if !ok {
		return // it waits for its kind
	}
	object, err := client.Get(g.ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		g.err = fmt.Errorf("get %s: %w", id, err)
	default:
		g.objects[id] = object
	}
}

// lookup answers a lookup of the rule from the cluster.
func (g *gathered) lookup(q program.Query) ([]*unstructured.Unstructured, error) {
	if q.Name != "" {
		id := identity.ID{GroupKind: q.GVK.GroupKind()}
		id.Namespace, id.Name = q.Namespace, q.Name
		g.read(q.GVK, q.Namespace, q.Name)
		if object := g.objects[id]; object != nil {
			return []*unstructured.Unstructured{object}, g.err
		}
		return nil, g.err
	}
	selector := ""
	if q.Selector != nil {
		selector = q.Selector.String()
	}
	key := fmt.Sprintf("%s\n%s\n%t\n%s", q.GVK, q.Namespace, q.AllNamespaces, selector)
	if found, ok := g.queries[key]; ok {
		return found, nil
	}
	namespace := q.Namespace
	if q.AllNamespaces {
		namespace = ""
	}
	client, ok := g.d.client(q.GVK, namespace)
	if !ok {
		return nil, nil // it waits for its kind
	}
	list, err := client.List(g.ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", q.GVK.Kind, err)
	}
	var found []*unstructured.Unstructured
	for i := range list.Items {
		found = append(found, &list.Items[i])
	}
	g.queries[key] = found
	return found, nil
}

// AsWritten is a parent as it would be in the cluster once it is applied: laid over the one that exists, with defaults, by a
// server-side dry run.
func AsWritten(ctx context.Context, client dynamic.ResourceInterface, written *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	existing, err := client.Get(ctx, written.GetName(), metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("get %s: %w", identity.Of(written), err)
	}
	var parent *unstructured.Unstructured
	if err != nil {
		parent, err = client.Create(ctx, written, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	} else {
		preview.Overlay(existing.Object, written.Object)
		parent, err = client.Update(ctx, existing, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
	}
	if err != nil {
		return nil, fmt.Errorf("dry run of %s: %w", identity.Of(written), err)
	}
	return parent, nil
}
