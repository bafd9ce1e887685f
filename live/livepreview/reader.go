package livepreview

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/record"
	"kanon.dev/kanon/offline/preview"
	"kanon.dev/kanon/rules/program"
)

// reader reads the objects that one parent needs, each once.
type reader struct {
	*Previewer
	ctx     context.Context //nolint:containedctx // preview asks for lookups in the middle of an evaluation, which takes no context
	objects map[identity.ID]*unstructured.Unstructured
	// owned are those that the rule created for the parent.
	owned map[identity.ID]bool
	// asked are those that were requested, whether they exist or not.
	asked   map[identity.ID]bool
	queries map[string][]*unstructured.Unstructured
	lookups []Lookup
	err     error
}

func newReader(ctx context.Context, p *Previewer) *reader {
	return &reader{
		Previewer: p, ctx: ctx, objects: map[identity.ID]*unstructured.Unstructured{}, owned: map[identity.ID]bool{},
		asked: map[identity.ID]bool{}, queries: map[string][]*unstructured.Unstructured{},
	}
}

// input is the input of an evaluation for a parent.
func (r *reader) input(parent *unstructured.Unstructured, missing map[schema.GroupVersionKind]program.Absence) preview.Input {
	o := r.options
	return preview.Input{
		Program: o.Program, Parent: parent, Now: o.Now, Namespace: o.Namespace,
		Lookup: r.lookup, Schema: o.Kinds.Schema, HasStatus: o.Kinds.HasStatus, Missing: missing,
	}
}

// children reads the parent's children.
func (r *reader) children(parent *unstructured.Unstructured) error {
	kinds, err := r.childKinds()
	if err != nil {
		return err
	}
	children, err := r.options.Children(r.ctx, r.ruleID, slices.Collect(maps.Keys(kinds)), parent)
	if err != nil {
		return err
	}
	for _, object := range children {
		id := identity.Of(object)
		r.objects[id], r.owned[id], r.asked[id] = object, true, true
	}
	return nil
}

// childKinds returns the kinds of children that the rule has, and those it had according to its record. Without the
// right to read the record, the latter are left out.
func (r *reader) childKinds() (map[schema.GroupVersionKind]bool, error) {
	kinds := map[schema.GroupVersionKind]bool{}
	for _, child := range r.options.Program.Children {
		kinds[child.GVK] = true
	}
	stated, err := r.Record(r.ctx)
	if err != nil {
		return nil, err
	}
	for _, kind := range stated.Children {
		kinds[kind.GVK()] = true
	}
	return kinds, nil
}

// Record reads the rule's record. It is empty if the rule does not run, or if the user may not read it.
func (p *Previewer) Record(ctx context.Context) (record.Record, error) {
	stored, err := p.options.Client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).
		Namespace(p.options.Namespace).Get(ctx, record.NamePrefix+p.ruleID, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return record.Record{}, nil
	case err != nil:
		return record.Record{}, fmt.Errorf("read the rule's record: %w", err)
	}
	text, _, _ := unstructured.NestedString(stored.Object, "data", "record")
	var stated record.Record
	if err := json.Unmarshal([]byte(text), &stated); err != nil {
		return record.Record{}, nil //nolint:nilerr // a record that Kanon did not write is ignored
	}
	return stated, nil
}

// read reads one object, unless it was requested before.
func (r *reader) read(gvk schema.GroupVersionKind, namespace, name string) {
	id := identity.ID{GroupKind: gvk.GroupKind()}
	id.Namespace, id.Name = namespace, name
	if r.asked[id] || r.err != nil || name == "" {
		return
	}
	r.asked[id] = true
	client, ok := r.options.Resource(gvk, namespace)
	if !ok {
		return // the kind does not exist
	}
	object, err := client.Get(r.ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		r.err = fmt.Errorf("get %s: %w", id, err)
	default:
		r.objects[id] = object
	}
}

// lookup answers and records a lookup of the rule.
func (r *reader) lookup(q program.Query) ([]*unstructured.Unstructured, error) {
	found, err := r.find(q)
	r.lookups = append(r.lookups, Lookup{Query: q, Found: found, Err: err})
	return found, err
}

// distinctLookups returns the lookups of the last evaluation, each once: a preview may evaluate twice.
func (r *reader) distinctLookups() []Lookup {
	seen := map[string]bool{}
	var all []Lookup
	for _, l := range r.lookups {
		key := l.Query.Lookup + "\n" + queryKey(l.Query)
		if !seen[key] {
			seen[key], all = true, append(all, l)
		}
	}
	return all
}

// queryKey is equal for queries with the same result.
func queryKey(q program.Query) string {
	return fmt.Sprintf("%s\n%s\n%t\n%s\n%s", q.GVK, q.Namespace, q.AllNamespaces, q.Name, labelsOf(q))
}

// find returns the objects that a query asks for.
func (r *reader) find(q program.Query) ([]*unstructured.Unstructured, error) {
	if q.Name != "" {
		id := identity.ID{GroupKind: q.GVK.GroupKind()}
		id.Namespace, id.Name = q.Namespace, q.Name
		r.read(q.GVK, q.Namespace, q.Name)
		if object := r.objects[id]; object != nil {
			return []*unstructured.Unstructured{object}, r.err
		}
		return nil, r.err
	}
	key := queryKey(q)
	if found, ok := r.queries[key]; ok {
		return found, nil
	}
	namespace := q.Namespace
	if q.AllNamespaces {
		namespace = ""
	}
	client, ok := r.options.Resource(q.GVK, namespace)
	if !ok {
		return nil, nil // the kind does not exist
	}
	list, err := client.List(r.ctx, metav1.ListOptions{LabelSelector: labelsOf(q)})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", q.GVK.Kind, err)
	}
	var found []*unstructured.Unstructured
	for i := range list.Items {
		found = append(found, &list.Items[i])
	}
	r.queries[key] = found
	return found, nil
}

// labelsOf is the label selector of a query; empty for all objects.
func labelsOf(q program.Query) string {
	if q.Selector == nil {
		return ""
	}
	return q.Selector.String()
}
