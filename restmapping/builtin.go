package restmapping

import (
	"cmp"
	_ "embed" // kinds.txt
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

//go:generate go test -run TestKindsAreThoseOfTheControlPlane . -update

//go:embed kinds.txt
var kindsText string

// Table is a set of kinds. The zero value is empty. It must not be used while Define runs.
type Table struct {
	version string
	kinds   map[schema.GroupVersionKind]Kind
	groups  sets.Set[string]
}

// LoadBuiltin returns a new table of the built-in kinds. The error names the wrong line of the embedded file.
func LoadBuiltin() (*Table, error) {
	version, kinds, err := parse(kindsText)
	if err != nil {
		return nil, fmt.Errorf("read the built-in kinds: %w", err)
	}
	t := &Table{version: version, kinds: make(map[schema.GroupVersionKind]Kind, len(kinds)), groups: sets.New[string]()}
	for _, kind := range kinds {
		t.kinds[kind.GVK] = kind
		t.groups.Insert(kind.GVK.Group)
	}
	return t, nil
}

// Version is the version of Kubernetes that has these kinds, such as v1.37.2.
func (t *Table) Version() string { return t.version }

// HasGroup reports whether a group is one of Kubernetes' own, so that all its kinds are known. Groups added by Define
// are not.
func (t *Table) HasGroup(group string) bool { return t.groups.Has(group) }

// Lookup returns a kind, and whether the table has it.
func (t *Table) Lookup(gvk schema.GroupVersionKind) (Kind, bool) {
	kind, ok := t.kinds[gvk]
	return kind, ok
}

// Kinds lists all kinds, sorted by group, version and kind.
func (t *Table) Kinds() []Kind {
	return sorted(t.kinds)
}

func (t *Table) add(kind Kind) {
	if t.kinds == nil {
		t.kinds = make(map[schema.GroupVersionKind]Kind)
	}
	t.kinds[kind.GVK] = kind
}

// errNoKind reports that a CustomResourceDefinition defines no kind.
var errNoKind = errors.New("it lacks spec.group, spec.names.kind or a version that is served")

// Define adds the kinds of a CustomResourceDefinition, one for each served version. The error reports why it defines
// none.
func (t *Table) Define(crd *unstructured.Unstructured) error {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	plural, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "plural")
	scope, _, _ := unstructured.NestedString(crd.Object, "spec", "scope")
	versions, _, _ := unstructured.NestedFieldNoCopy(crd.Object, "spec", "versions")
	list, _ := versions.([]any)
	defined := false
	for _, item := range list {
		version, _ := item.(map[string]any)
		name, _ := version["name"].(string)
		if served, _ := version["served"].(bool); !served || name == "" || group == "" || kind == "" {
			continue
		}
		subresources := sets.New[string]()
		if subs, ok := version["subresources"].(map[string]any); ok {
			subresources = sets.KeySet(subs)
		}
		gv := schema.GroupVersion{Group: group, Version: name}
		t.add(Kind{
			GVK: gv.WithKind(kind), GVR: gv.WithResource(plural), Namespaced: scope == "Namespaced",
			Verbs:     sets.New("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"),
			HasStatus: subresources.Has("status"), Subresources: subresources,
			Definition: Definition{UID: types.UID(crd.GetName()), Generation: 1},
		})
		defined = true
	}
	if !defined {
		return errNoKind
	}
	return nil
}

// versionPrefix begins the line of kinds.txt with the version.
const versionPrefix = "# Kubernetes "

// parse reads a line for each kind, with apiVersion, kind, resource, scope, verbs and subresources, separated by tabs.
func parse(text string) (version string, kinds []Kind, err error) {
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "#") {
			version = cmp.Or(version, strings.TrimPrefix(line, versionPrefix))
			continue
		}
		columns := strings.Split(line, "\t")
		if len(columns) != 6 {
			return "", nil, fmt.Errorf("%q has %d columns, not 6", line, len(columns))
		}
		gv, err := schema.ParseGroupVersion(columns[0])
		if err != nil {
			return "", nil, err
		}
		subresources := sets.New(strings.Split(columns[5], ",")...).Delete("")
		kinds = append(kinds, Kind{
			GVK: gv.WithKind(columns[1]), GVR: gv.WithResource(columns[2]), Namespaced: columns[3] == "Namespaced",
			Verbs:     sets.New(strings.Split(columns[4], ",")...),
			HasStatus: subresources.Has("status"), Subresources: subresources,
		})
	}
	return version, kinds, nil
}

type operation struct {
	Action string `json:"x-kubernetes-action"`
	Kind   struct {
		Group   string `json:"group"`
		Version string `json:"version"`
		Kind    string `json:"kind"`
	} `json:"x-kubernetes-group-version-kind"`
}

// DefineDocument adds the kinds in the paths of an OpenAPI v3 document, as an API server publishes it for a group and
// version. A document without paths adds none. The error reports that the document cannot be read.
func (t *Table) DefineDocument(document []byte) error {
	var content struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(document, &content); err != nil {
		return fmt.Errorf("decode the paths of an OpenAPI document: %w", err)
	}
	found := map[schema.GroupVersionKind]*Kind{}
	for path, methods := range content.Paths {
		resource, ok := resourceOf(path)
		if !ok {
			continue
		}
		for _, method := range methods {
			var op operation
			if json.Unmarshal(method, &op) == nil && op.Action != "" { // parameters are there, too
				resource.learn(op, found)
			}
		}
	}
	for _, kind := range found {
		kind.HasStatus = kind.Subresources.Has("status")
		if kind.Verbs.Has("get") {
			t.add(*kind)
		}
	}
	return nil
}

type pathResource struct {
	version     schema.GroupVersion
	resource    string
	subresource string
	namespaced  bool
}

// resourceOf parses a path such as /apis/apps/v1/namespaces/{namespace}/deployments/{name}/status.
func resourceOf(path string) (pathResource, bool) {
	var r pathResource
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		r.version, parts = schema.GroupVersion{Version: parts[1]}, parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		r.version, parts = schema.GroupVersion{Group: parts[1], Version: parts[2]}, parts[3:]
	default:
		return r, false
	}
	if len(parts) > 2 && parts[0] == "namespaces" && parts[1] == "{namespace}" {
		r.namespaced, parts = true, parts[2:]
	}
	r.resource = parts[0]
	if len(parts) > 2 {
		r.subresource = parts[2]
	}
	return r, r.resource != "watch" && len(parts) <= 3
}

// learn adds what an operation on the resource tells about its kind.
func (r pathResource) learn(op operation, found map[schema.GroupVersionKind]*Kind) {
	gvk := schema.GroupVersionKind{Group: op.Kind.Group, Version: op.Kind.Version, Kind: op.Kind.Kind}
	if r.subresource != "" && (r.subresource != "status" || gvk.GroupVersion() != r.version) {
		return
	}
	kind := found[gvk]
	if kind == nil {
		kind = &Kind{GVK: gvk, Verbs: sets.New[string](), Subresources: sets.New[string]()}
		found[gvk] = kind
	}
	if r.subresource != "" {
		kind.Subresources.Insert(r.subresource)
		return
	}
	kind.GVR = r.version.WithResource(r.resource)
	kind.Namespaced = kind.Namespaced || r.namespaced
	switch op.Action {
	case "post":
		kind.Verbs.Insert("create")
	case "put":
		kind.Verbs.Insert("update")
	case "list":
		kind.Verbs.Insert("list", "watch") // watch has deprecated paths of its own
	default:
		kind.Verbs.Insert(op.Action)
	}
}
