package explain

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/rules/syntax"
)

// Explanation says for each field of an object why it has its value.
type Explanation struct {
	Object mark.Ref `json:"object"`
	// Writings are what rules write to the object.
	Writings []Writing `json:"rules"`
	// Notes are about the object as a whole.
	Notes []string `json:"notes,omitempty"`
	// Fields are the leaves of the object in the order of YAML, followed by the fields that only rules have.
	Fields []Explained `json:"fields"`

	// live is the object without hidden values and managedFields.
	live map[string]any
}

// Explained is a field of an object, and why it has its value.
type Explained struct {
	Path Path `json:"path"`
	// Value is the live value; nil if it is hidden or does not exist.
	Value  any  `json:"value,omitempty"`
	Hidden bool `json:"hidden,omitempty"`
	// Exists is false for a field that only a rule has.
	Exists bool `json:"exists"`
	// Rule and Part name the rule that renders the field, and its part. They are empty if no rule does.
	Rule   string  `json:"rule,omitempty"`
	Part   string  `json:"part,omitempty"`
	Source *Source `json:"source,omitempty"`
	// Managers are the owners of the field, the most recent writer first.
	Managers []Owner `json:"managers,omitempty"`
	// Rendered is the rendered value, if it differs from the live one; nil if it is hidden.
	Rendered any `json:"rendered,omitempty"`
	// State and Message say what Kanon does about the field.
	State   State  `json:"state"`
	Message string `json:"message"`
}

// Explain compares a live object with what rules write to it.
func Explain(live *unstructured.Unstructured, writings []Writing) *Explanation {
	e := &Explanation{Object: mark.RefOf(live), Writings: writings, live: runtime.DeepCopyJSON(live.Object)}
	e.Object.UID = ""
	// These two repeat the object, including the values of a Secret.
	unstructured.RemoveNestedField(e.live, "metadata", "managedFields")
	unstructured.RemoveNestedField(e.live, "metadata", "annotations", corev1.LastAppliedConfigAnnotation)
	if annotations, exists, _ := unstructured.NestedMap(e.live, "metadata", "annotations"); exists && len(annotations) == 0 {
		unstructured.RemoveNestedField(e.live, "metadata", "annotations")
	}
	x := &explainer{live: e.live, owners: managedOf(live), secret: syntax.IsSecret(live.GroupVersionKind()), rendered: map[string][]rendered{}}
	x.collect(writings)
	eachLeaf(e.live, nil, func(at Path, leaf any) { x.add(at, leaf, true) })
	x.missing()
	e.Fields = x.fields
	for _, f := range x.fields {
		if f.Hidden && f.Exists {
			hide(e.live, f.Path)
		}
	}
	return e
}

// rendered is a field that a rule renders.
type rendered struct {
	writing *Writing
	field   *Field
}

type explainer struct {
	live     map[string]any
	owners   managed
	secret   bool
	writings []*Writing
	// rendered has the fields that rules render, by their paths in the live object. order lists these paths.
	rendered map[string][]rendered
	order    []Path
	fields   []Explained
}

// collect groups the rendered fields by their paths in the live object.
func (x *explainer) collect(writings []Writing) {
	for i := range writings {
		w := &writings[i]
		x.writings = append(x.writings, w)
		for j := range w.Fields {
			f := w.Fields[j]
			if x.secret {
				f = f.stored()
			}
			at, _, _ := locate(x.live, f.Path)
			key := keyOf(at)
			if x.rendered[key] == nil {
				x.order = append(x.order, at)
			}
			x.rendered[key] = append(x.rendered[key], rendered{w, &f})
		}
	}
}

// keyOf is a path as a map key.
func keyOf(p Path) string {
	var key strings.Builder
	for _, s := range p {
		key.WriteString("\x00" + s.Name + "\x00" + strconv.Itoa(s.Index))
	}
	return key.String()
}

// missing adds the fields that rules have and the object does not.
func (x *explainer) missing() {
	for _, at := range x.order {
		if _, _, exists := locate(x.live, at); !exists {
			x.add(at, nil, false)
		}
	}
}

func (x *explainer) add(at Path, value any, exists bool) {
	f := facts{path: at, live: value, exists: exists, owners: x.owners.of(at)}
	if by := x.rendered[keyOf(at)]; len(by) > 0 {
		best := by[0]
		for _, r := range by {
			if slices.ContainsFunc(f.owners, func(o Owner) bool { return o.Manager == r.writing.Manager }) {
				best = r
				break
			}
		}
		f.writing, f.field, f.hidden = best.writing, best.field, best.field.Hidden
	} else {
		for _, w := range x.writings {
			if w.Manager == fieldset.Manager && at.String() == "metadata.namespace" || slices.ContainsFunc(f.owners, func(o Owner) bool { return o.Manager == w.Manager }) {
				f.writing = w
			}
		}
	}
	f.hidden = f.hidden || x.secret && holdsValues(at)
	out := Explained{Path: at, Value: value, Exists: exists, Hidden: f.hidden, Managers: f.owners}
	if f.hidden {
		out.Value = nil
	}
	if f.field != nil {
		out.Rule, out.Part, out.Source = f.writing.Rule, f.writing.Part, f.field.Source
		if exists && !f.field.Absent && !f.hidden && !sameValue(f.field.raw, value) {
			out.Rendered = f.field.raw
		}
	}
	if out.State, out.Message = decide(f); out.State == NotWritten {
		out.Rule, out.Part = f.writing.Rule, f.writing.Part
	}
	x.fields = append(x.fields, out)
}

// hide replaces a value with hiddenText.
func hide(object any, p Path) {
	last := len(p) - 1
	_, holder, _ := locate(object, p[:last])
	switch holder := holder.(type) {
	case map[string]any:
		holder[p[last].Name] = hiddenText
	case []any:
		holder[p[last].Index] = hiddenText
	}
}

// Below is the explanation of a field and all fields below it. ok is false if neither the object nor a rule has the
// field.
func (e *Explanation) Below(path syntax.IgnorePath) (part *Explanation, ok bool) {
	if e.Object.Group == "" && e.Object.Kind == "Secret" && path[0].Field == "stringData" {
		path = append(syntax.IgnorePath{{Field: "data"}}, path[1:]...) // the API server stores it there
	}
	at, _, _ := locate(e.live, pathOf(path))
	out := *e
	out.Fields = slices.DeleteFunc(slices.Clone(e.Fields), func(f Explained) bool { return !f.Path.isBelow(at) && !leads(path, f.Path) })
	return &out, len(out.Fields) > 0
}

// Paths are the paths that Below takes. A list whose items have no key is one field.
func (e *Explanation) Paths() []string {
	var paths []string
	for _, f := range e.Fields {
		path := f.Path
		if i := slices.IndexFunc(path, func(s Step) bool { return s.Index >= 0 && s.Keys == nil }); i >= 0 {
			path = path[:i]
		}
		if text := path.String(); !slices.Contains(paths, text) {
			paths = append(paths, text)
		}
	}
	return paths
}
