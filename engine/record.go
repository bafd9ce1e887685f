package engine

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/keyring"
	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/rules"
)

const (
	// labelRecord marks a record; its value is "true".
	labelRecord = "kanon.dev/state"
	// recordPrefix begins the name of a record; the rule's id follows.
	recordPrefix = "kanon-state-"
	// recordKey is where a record's ConfigMap has it, as JSON.
	recordKey = "record"
	// heldKey is where it has Held.
	heldKey = "held"
	// sealKey is where it has the seal of the record.
	sealKey = "seal"
	// recordManager is the field manager of records.
	recordManager = "kanon-state"
)

// ruleRecord is what is remembered of a rule over restarts, in a ConfigMap of Kanon's
// namespace: what a fresh process could not know of objects that the rule's text
// does not mention any more. It is written before what it tells of is done.
type ruleRecord struct {
	// Rule is namespace/name.
	Rule string `json:"rule"`
	// Origin is where the rule stood last.
	Origin recordedOrigin `json:"origin"`
	// Revision is the last one that was let delete what it does not render.
	Revision string `json:"revision,omitempty"`
	// Parents are the kinds of parents that the rule has had, the present one last.
	Parents []recordedKind `json:"parents"`
	// Children are the kinds of objects that it may have made.
	Children []recordedKind `json:"children,omitempty"`
	// Holds is true once the rule may have held parents by its finalizer.
	Holds bool `json:"holds,omitempty"`
	// Patches are those by which it may have set something.
	Patches []recordedPatch `json:"patches,omitempty"`
	// ConditionPrefix and Conditions say which conditions of the parents are the rule's.
	ConditionPrefix string   `json:"conditionPrefix,omitempty"`
	Conditions      []string `json:"conditions,omitempty"`
	// OnRuleDeletion is what the rule said last.
	OnRuleDeletion rules.RuleDeletion `json:"onRuleDeletion"`
	// Held is what a revision would delete and must not, of a rule in a file, which has no
	// object to say so; for people, so it stands beside the rest.
	Held string `json:"-"`
}

// recordedOrigin is a source.Origin, without the UID, which changes when it is made anew.
type recordedOrigin struct {
	Namespace string `json:"namespace,omitempty"`
	ConfigMap string `json:"configMap,omitempty"`
	Rule      string `json:"rule,omitempty"`
	Path      string `json:"path,omitempty"`
	// Definition is that of a Rule object.
	Definition types.UID `json:"definition,omitempty"`
}

func originOf(o source.Origin) recordedOrigin {
	return recordedOrigin{
		Namespace: cmp.Or(o.ConfigMap.Namespace, o.Rule.Namespace),
		ConfigMap: o.ConfigMap.Name, Rule: o.Rule.Name, Path: o.Path, Definition: o.Definition,
	}
}

func (o recordedOrigin) origin() source.Origin {
	if o.Rule != "" {
		return source.Origin{Rule: types.NamespacedName{Namespace: o.Namespace, Name: o.Rule}, Definition: o.Definition}
	}
	return source.Origin{ConfigMap: types.NamespacedName{Namespace: o.Namespace, Name: o.ConfigMap}, Path: o.Path}
}

// recordedKind is a kind in a record.
type recordedKind struct {
	Group   string `json:"group,omitempty"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
	// Revision is the one that was last let delete objects of the kind; it is kept
	// where the rule has none of it as children any more.
	Revision string `json:"revision,omitempty"`
	// Unseen is true where the kind was missing when the rule's revision was let delete.
	Unseen bool `json:"unseen,omitempty"`
}

func (k recordedKind) gvk() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: k.Group, Version: k.Version, Kind: k.Kind}
}

func kindToRecord(gvk schema.GroupVersionKind) recordedKind {
	return recordedKind{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind}
}

// indexOfKind is where kinds have gvk, or -1.
func indexOfKind(kinds []recordedKind, gvk schema.GroupVersionKind) int {
	return slices.IndexFunc(kinds, func(k recordedKind) bool { return k.gvk() == gvk })
}

// addChild notes a kind of children.
func (r *ruleRecord) addChild(gvk schema.GroupVersionKind) {
	if indexOfKind(r.Children, gvk) < 0 {
		r.Children = append(r.Children, kindToRecord(gvk))
	}
}

// addParent notes the kind of the parents.
func (r *ruleRecord) addParent(gvk schema.GroupVersionKind) {
	if i := indexOfKind(r.Parents, gvk); i >= 0 {
		r.Parents = slices.Delete(r.Parents, i, i+1)
	}
	r.Parents = append(r.Parents, kindToRecord(gvk))
}

func (r *ruleRecord) clone() ruleRecord {
	c := *r
	c.Parents, c.Children, c.Patches = slices.Clone(r.Parents), slices.Clone(r.Children), slices.Clone(r.Patches)
	c.Conditions = slices.Clone(r.Conditions)
	return c
}

// equal tells whether two records say the same.
func (r *ruleRecord) equal(other *ruleRecord) bool {
	return r.Rule == other.Rule && r.Held == other.Held && r.Holds == other.Holds && r.Origin == other.Origin && r.Revision == other.Revision &&
		r.OnRuleDeletion == other.OnRuleDeletion && r.ConditionPrefix == other.ConditionPrefix &&
		slices.Equal(r.Conditions, other.Conditions) && slices.Equal(r.Parents, other.Parents) &&
		slices.Equal(r.Children, other.Children) && slices.Equal(r.Patches, other.Patches)
}

// configMap is the object that holds the record.
func (r *ruleRecord) configMap(namespace, id string, keys *keyring.Keyring) (*unstructured.Unstructured, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode the record of rule %s: %w", r.Rule, err)
	}
	data := map[string]any{recordKey: string(text)}
	if r.Held != "" {
		data[heldKey] = r.Held
	}
	data[sealKey] = keys.Seal(recordStatement(namespace, id, string(text)))
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1",
		"kind":       "ConfigMap",
		"metadata": map[string]any{
			"name": recordPrefix + id, "namespace": namespace,
			"labels": map[string]any{labelRecord: "true"},
		},
		"data": data,
	}}, nil
}

// recordStatement is what the seal of a record is of.
func recordStatement(namespace, id, text string) string {
	return strings.Join([]string{"record", namespace, id, text}, "\x00")
}

// distrust takes out of a record what would let objects be deleted: somebody else may have written it.
func (r *ruleRecord) distrust() {
	r.Revision, r.OnRuleDeletion = "", rules.OrphanChildren
	for i := range r.Children {
		r.Children[i].Revision = ""
	}
}

// readRecord reads a record from its ConfigMap, and what its seal proves. One that proves nothing is not believed in what
// may be deleted.
func readRecord(object *unstructured.Unstructured, keys *keyring.Keyring, believe bool) (r ruleRecord, sealed keyring.Verdict, err error) {
	text, _, err := unstructured.NestedString(object.Object, "data", recordKey)
	if err == nil {
		err = json.Unmarshal([]byte(text), &r)
	}
	if err != nil {
		return r, keyring.Forged, fmt.Errorf("read the record in ConfigMap %s: %w",
			types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}, err)
	}
	r.Held, _, _ = unstructured.NestedString(object.Object, "data", heldKey)
	seal, _, _ := unstructured.NestedString(object.Object, "data", sealKey)
	id := strings.TrimPrefix(object.GetName(), recordPrefix)
	sealed = keys.Check(recordStatement(object.GetNamespace(), id, text), seal)
	if !sealed.Proves() && !believe {
		r.distrust()
	}
	return r, sealed, nil
}

func compareKinds(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) }
