package record

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/keyring"
)

const (
	// Label marks the ConfigMap of a record. Its value is "true".
	Label = "kanon.dev/state"
	// NamePrefix begins the name of the ConfigMap. The id of the rule follows.
	NamePrefix = "kanon-state-"
	// manager is the field manager of records.
	manager = "kanon-state"

	// The keys of the ConfigMap's data.
	keyRecord  = "record"  // as JSON
	keyBlocked = "blocked" // as JSON
	keyMessage = "held"
	keyRemoval = "removal"
	keyReport  = "report" // as JSON
	keySeal    = "seal"
)

// Format is the format of the records that this version writes. It changes when an earlier version would misread a
// record, or one of the marks on the rule's children. A record without a format has format 1.
const Format = 1

// formatted is a record with its format, as stored in the ConfigMap.
type formatted struct {
	Format int `json:"format,omitempty"`
	*Record
}

// NewerError reports that a newer version of Kanon wrote a record. The record is left as it is and its rule does not
// run: this version would lose what the record says, and rewrite the children of the rule.
type NewerError struct {
	ConfigMap types.NamespacedName
	Format    int
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("a newer version of Kanon wrote its record: ConfigMap %s has format %d, and this version reads formats up to %d; run that version again",
		e.ConfigMap, e.Format, Format)
}

// encode returns the ConfigMap of a record.
func (r *Record) encode(namespace, id string, keys *keyring.Keyring) (*unstructured.Unstructured, error) {
	text, err := json.Marshal(formatted{Format, r})
	if err != nil {
		return nil, fmt.Errorf("encode the record of rule %s: %w", r.Rule, err)
	}
	data := map[string]any{keyRecord: string(text), keySeal: keys.Seal(statement(namespace, id, string(text)))}
	if err := r.Blocked.encode(data); err != nil {
		return nil, fmt.Errorf("encode the record of rule %s: %w", r.Rule, err)
	}
	if r.Removal != "" {
		data[keyRemoval] = r.Removal
	}
	if r.Report != nil {
		report, err := json.Marshal(r.Report)
		if err != nil {
			return nil, fmt.Errorf("encode the report on rule %s: %w", r.Rule, err)
		}
		data[keyReport] = string(report)
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1",
		"kind":       "ConfigMap",
		"metadata": map[string]any{
			"name": NamePrefix + id, "namespace": namespace,
			"labels": map[string]any{Label: "true"},
		},
		"data": data,
	}}, nil
}

// decode reads a record from its ConfigMap and checks its seal. If the seal proves nothing, somebody else may have
// written the record, so it loses its permissions to delete.
func decode(object *unstructured.Unstructured, keys *keyring.Keyring) (r Record, sealed keyring.Verdict, err error) {
	r, text, err := read(object)
	if err != nil {
		return r, keyring.Forged, err
	}
	id := strings.TrimPrefix(object.GetName(), NamePrefix)
	sealed = keys.Check(statement(object.GetNamespace(), id, text), sealOf(object))
	if !sealed.Proves() {
		r.distrust()
	}
	return r, sealed, nil
}

// read reads a record from its ConfigMap, which anybody may have written. text is what the seal covers.
func read(object *unstructured.Unstructured) (r Record, text string, err error) {
	name := types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
	text, _, err = unstructured.NestedString(object.Object, "data", keyRecord)
	if format := formatOf(text); format > Format {
		return r, text, &NewerError{ConfigMap: name, Format: format}
	}
	if err == nil {
		err = json.Unmarshal([]byte(text), &formatted{Record: &r})
	}
	if err != nil {
		return r, text, fmt.Errorf("read the record in ConfigMap %s: %w", name, err)
	}
	r.Blocked, r.Report = readBlocked(object), readReport(object)
	r.Removal, _, _ = unstructured.NestedString(object.Object, "data", keyRemoval)
	return r, text, nil
}

// formatOf returns the format of a record, even if this version cannot decode the rest of it.
func formatOf(text string) int {
	var record struct{ Format int }
	_ = json.Unmarshal([]byte(text), &record) // read decodes all of it, and reports the error
	return record.Format
}

// encode adds the keys for what is blocked to the ConfigMap's data.
func (b *Blocked) encode(data map[string]any) error {
	if b == nil {
		return nil
	}
	if b.Message != "" {
		data[keyMessage] = b.Message
	}
	if b.Revision == "" {
		return nil
	}
	text, err := json.Marshal(b)
	data[keyBlocked] = string(text)
	return err
}

// readBlocked returns what is blocked, as far as it can be decoded; nil if nothing is.
func readBlocked(object *unstructured.Unstructured) *Blocked {
	var b Blocked
	text, _, _ := unstructured.NestedString(object.Object, "data", keyBlocked)
	if json.Unmarshal([]byte(text), &b) != nil {
		b = Blocked{}
	}
	if b.Message, _, _ = unstructured.NestedString(object.Object, "data", keyMessage); b.Message == "" && b.Revision == "" {
		return nil
	}
	return &b
}

// readReport returns the report; nil if there is none or it cannot be decoded.
func readReport(object *unstructured.Unstructured) *Report {
	text, _, _ := unstructured.NestedString(object.Object, "data", keyReport)
	var report *Report
	if json.Unmarshal([]byte(text), &report) != nil {
		return nil
	}
	return report
}

// statement returns what the seal of a record covers.
func statement(namespace, id, text string) string {
	return strings.Join([]string{"record", namespace, id, text}, "\x00")
}

// sealOf returns the seal of a ConfigMap; empty if there is none.
func sealOf(object *unstructured.Unstructured) string {
	seal, _, _ := unstructured.NestedString(object.Object, "data", keySeal)
	return seal
}
