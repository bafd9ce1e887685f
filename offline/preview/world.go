package preview

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/kinds/openapi"
	"kanon.dev/kanon/offline/overlay"
	"kanon.dev/kanon/redact"
	"kanon.dev/kanon/rules/ignore"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
)

// world is the cluster as given by the input. It implements program.Reader.
type world struct {
	objects []*unstructured.Unstructured
	byID    map[identity.ID]*unstructured.Unstructured
	// ties has the ownership of the objects, and nodes the child of the rule for those of the parent.
	ties  map[identity.ID]tie
	nodes map[identity.ID]string
	// rendered has the known children as they were rendered last.
	rendered map[identity.ID]*unstructured.Unstructured
	// replaced and stepwise are those of Input.
	replaced map[identity.ID]*unstructured.Unstructured
	stepwise bool
	// children are those of the rule, by id.
	children map[string]program.Child

	parent mark.Ref
	// ruleID is the rule's id in marks; empty if unknown. retainedBy is the value of the annotation on orphans of the
	// rule and the parent.
	ruleID     string
	retainedBy string
	// lookup answers lookups instead of objects, unless it is nil.
	lookup func(program.Query) ([]*unstructured.Unstructured, error)
	schema func(schema.GroupVersionKind) *openapi.Schema
	// hasStatus reports whether a kind has a status subresource.
	hasStatus func(schema.GroupVersionKind) bool
	// check returns an error if the API server would refuse an object.
	check func(object, old *unstructured.Unstructured) error
	// ignores lists the fields of a rendered object that are currently left to others.
	ignores func(*unstructured.Unstructured) []ignore.Path
	// secrets are the values of all Secrets that were given, looked up or rendered.
	secrets redact.Values
}

func newWorld(in Input) *world {
	// The parent is looked up as it was given, not as With may have it.
	objects := slices.DeleteFunc(slices.Clone(in.With), func(o *unstructured.Unstructured) bool { return identity.Of(o) == identity.Of(in.Parent) })
	w := &world{
		objects: append(objects, in.Parent),
		byID:    make(map[identity.ID]*unstructured.Unstructured, len(in.With)+len(in.Children)), ties: make(map[identity.ID]tie), nodes: make(map[identity.ID]string),
		rendered: make(map[identity.ID]*unstructured.Unstructured, len(in.Children)),
		replaced: make(map[identity.ID]*unstructured.Unstructured, len(in.Replaced)), stepwise: in.Stepwise,
		children: make(map[string]program.Child), parent: mark.RefOf(in.Parent), lookup: in.Lookup, schema: in.Schema, check: in.Check, secrets: redact.Values{},
	}
	if w.schema == nil {
		w.schema = func(schema.GroupVersionKind) *openapi.Schema { return nil }
	}
	if w.hasStatus = in.HasStatus; w.hasStatus == nil {
		w.hasStatus = func(schema.GroupVersionKind) bool { return false }
	}
	if w.check == nil {
		w.check = func(_, _ *unstructured.Unstructured) error { return nil }
	}
	if check := w.check; in.Program.HasSecrets {
		w.check = func(object, old *unstructured.Unstructured) error { return redacted(check(object, old)) }
	}
	rule := types.NamespacedName{Namespace: cmp.Or(in.Program.Namespace, in.Namespace), Name: in.Program.Name}
	if in.Namespace != "" {
		w.ruleID = mark.RuleID(in.Namespace, rule.Namespace, rule.Name)
	}
	w.retainedBy = rule.String() + "/" + w.parent.Namespace + "/" + w.parent.Name
	for _, child := range in.Program.Children {
		w.children[child.ID] = *child
	}
	for _, object := range in.With {
		w.secrets.Note(object)
		id := identity.Of(object)
		w.byID[id], w.ties[id] = object, w.tieOf(object)
		if _, ok := w.children[w.ties[id].node]; ok {
			w.nodes[id] = w.ties[id].node
		}
	}
	for _, child := range in.Children {
		w.secrets.Note(child.Object)
		id := identity.Of(child.Object)
		w.objects = append(w.objects, child.Object)
		w.byID[id], w.ties[id], w.nodes[id], w.rendered[id] = child.Object, tie{ours: true, node: child.Node}, child.Node, child.Rendered
	}
	for _, object := range in.Replaced {
		w.secrets.Note(object)
		w.replaced[identity.Of(object)] = object
	}
	return w
}

// claim assigns the parent's objects to the nodes that render them, as owner references do not name a node.
func (w *world) claim(nodes []Node) {
	for _, node := range nodes {
		for _, object := range node.rendered() {
			if id := identity.Of(object); w.ties[id].ours {
				w.nodes[id] = node.ID
			}
		}
	}
}

// Lookup implements program.Reader.
func (w *world) Lookup(q program.Query) ([]*unstructured.Unstructured, error) {
	if w.lookup != nil {
		found, err := w.lookup(q)
		for _, object := range found {
			w.secrets.Note(object)
		}
		return found, err
	}
	var found []*unstructured.Unstructured
	for _, object := range w.objects {
		if q.GVK.GroupKind() != object.GroupVersionKind().GroupKind() {
			continue
		}
		if !q.AllNamespaces && object.GetNamespace() != q.Namespace {
			continue
		}
		if q.Name != "" && object.GetName() == q.Name ||
			q.Name == "" && q.Selector != nil && q.Selector.Matches(labels.Set(object.GetLabels())) {
			found = append(found, object)
		}
	}
	return found, nil
}

// Observed implements program.Reader.
func (w *world) Observed(node string) ([]*unstructured.Unstructured, error) {
	var found []*unstructured.Unstructured
	for _, object := range w.objects {
		if w.nodes[identity.Of(object)] == node {
			found = append(found, object)
		}
	}
	return found, nil
}

// Live implements program.Reader.
func (w *world) Live(rendered *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	id := identity.Of(rendered)
	live := w.byID[id]
	if live == nil || !w.ties[id].ours || live.GetDeletionTimestamp() != nil {
		return nil, nil
	}
	return live, nil
}

// whyKept says why an object is not written.
func (w *world) whyKept(node *program.Rendered, object *unstructured.Unstructured) string {
	live, _ := w.Live(object) // never fails
	switch {
	case live == nil:
		return "is not created: its createWhen is false"
	case slices.ContainsFunc(node.Awaiting, func(a program.Awaiting) bool { return a.Object == object }):
		return "stays as it is for now: what it depends on is not ready"
	case slices.Contains(node.Postponed, object):
		return "stays as it is for now: its rollout has not come to it"
	case w.children[node.Node].UpdatePolicy == syntax.UpdateCreateOnly:
		return "stays as it is: its updatePolicy is CreateOnly"
	default:
		return "stays as it is: its updateWhen is false"
	}
}

// namespace is the Namespace with a name, or nil.
func (w *world) namespace(name string) *unstructured.Unstructured {
	return w.byID[identity.ID{GroupKind: schema.GroupKind{Kind: "Namespace"}, NamespacedName: types.NamespacedName{Name: name}}]
}

// normalised is a rendered object as the engine writes it.
func (w *world) normalised(rendered *unstructured.Unstructured) *unstructured.Unstructured {
	gvk := rendered.GroupVersionKind()
	return overlay.Normalise(w.schema(gvk), rendered, w.hasStatus(gvk))
}

// applied is the result of applying a rendered object: it is laid over the existing object, except for fields that are
// left to others.
func (w *world) applied(node string, rendered *unstructured.Unstructured) *unstructured.Unstructured {
	there, written := w.byID[identity.Of(rendered)], fieldset.FoldStringData(rendered)
	if there == nil {
		return &unstructured.Unstructured{Object: written}
	}
	live := there.DeepCopy()
	var before map[string]any
	if last := w.rendered[identity.Of(rendered)]; last != nil {
		before = fieldset.FoldStringData(last)
	}
	overlay.Apply(w.schema(rendered.GroupVersionKind()), live.Object, before, written)
	for _, path := range w.ignored(node, rendered) {
		leave(live.Object, there.Object, path)
	}
	return live
}

// checkStatus says why the API server would refuse the status that was rendered for the parent.
func (w *world) checkStatus(in Input, out program.Result) error {
	if in.CheckStatus == nil || out.KeepStatus {
		return nil
	}
	written := in.Parent.DeepCopy()
	status := func(fields map[string]any) map[string]any { return map[string]any{"status": fields} }
	overlay.Apply(w.schema(written.GroupVersionKind()), written.Object, status(in.Status), status(out.Status))
	err := in.CheckStatus(written, in.Parent)
	if in.Program.HasSecrets {
		return redacted(err)
	}
	return err
}

// ignored lists the fields of a rendered object that are left to others.
func (w *world) ignored(node string, rendered *unstructured.Unstructured) []ignore.Path {
	return slices.Concat(w.children[node].Ignore, w.ignores(rendered))
}

// leave restores the live value of an ignored field, if the mapping or item that contains it exists.
func leave(in, live any, path ignore.Path) {
	step, rest := path[0], path[1:]
	switch in := in.(type) {
	case map[string]any:
		live, isMap := live.(map[string]any)
		value, has := live[step.Field]
		switch {
		case !isMap:
		case len(rest) > 0:
			leave(in[step.Field], value, rest)
		case has:
			in[step.Field] = runtime.DeepCopyJSONValue(value)
		default:
			delete(in, step.Field)
		}
	case []any:
		live, _ := live.([]any)
		for i, item := range in {
			at := slices.IndexFunc(live, func(other any) bool { return selects(step, other) })
			switch {
			case at < 0 || !selects(step, item):
			case len(rest) > 0:
				leave(item, live[at], rest)
			default:
				in[i] = runtime.DeepCopyJSONValue(live[at])
			}
		}
	}
}

// selects reports whether a step of a path selects an item of a list.
func selects(step ignore.Step, item any) bool {
	fields, ok := item.(map[string]any)
	for name, text := range step.Keys {
		ok = ok && fmt.Sprint(fields[name]) == text
	}
	return ok
}
