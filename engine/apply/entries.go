package apply

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

const (
	operationApply  = "Apply"
	operationUpdate = "Update"
	// ancientManager is the manager into which the API server folds the oldest Update entries when there are more than
	// ten (apimachinery, pkg/util/managedfields/internal/capmanagers.go).
	ancientManager = "ancient-changes"
)

// entry is one item of metadata.managedFields, read in place.
type entry struct {
	manager, operation, apiVersion, subresource string
	// raw is the item as it stands in the object; read-only.
	raw map[string]any
}

// IsManaged says whether the name of a field manager of obj contains text, such as a rule's id. An object without field
// managers tells nothing, and counts as one that is.
func IsManaged(obj *unstructured.Unstructured, text string) bool {
	entries := entriesOf(obj)
	return len(entries) == 0 || slices.ContainsFunc(entries, func(e entry) bool { return strings.Contains(e.manager, text) })
}

// ours says whether the entry records child writes.
func (e entry) ours() bool {
	return e.manager == Manager && e.subresource == "" &&
		(e.operation == operationApply || e.operation == operationUpdate)
}

// ancient says whether the entry may hold what was in an Update entry of ours.
func (e entry) ancient() bool {
	return e.manager == ancientManager && e.operation == operationUpdate && e.subresource == ""
}

// text is the entry's paths as JSON, with sorted keys.
func (e entry) text() (string, error) {
	if text, ok := e.raw["fieldsV1"].(string); ok {
		return text, nil // as package wire reads it
	}
	text, err := marshalText(e.raw["fieldsV1"])
	if err != nil {
		return "", fmt.Errorf("encode fieldsV1 of manager %s: %w", e.manager, err)
	}
	return text, nil
}

// item is the entry as the API server takes it.
func (e entry) item() map[string]any {
	text, ok := e.raw["fieldsV1"].(string)
	if !ok {
		return e.raw
	}
	item := maps.Clone(e.raw)
	item["fieldsV1"] = json.RawMessage(text)
	return item
}

// fields decodes the entry's paths.
func (e entry) fields() (*fieldpath.Set, error) {
	text, err := e.text()
	if err != nil {
		return nil, err
	}
	set := &fieldpath.Set{}
	if err := set.FromJSON(strings.NewReader(text)); err != nil {
		return nil, fmt.Errorf("decode fieldsV1 of manager %s: %w", e.manager, err)
	}
	return set, nil
}

// entriesOf reads managedFields in the object's order.
func entriesOf(obj *unstructured.Unstructured) []entry {
	metadata, ok := obj.Object["metadata"].(map[string]any)
	if !ok {
		return nil
	}
	items, ok := metadata["managedFields"].([]any)
	if !ok {
		return nil
	}
	entries := make([]entry, 0, len(items))
	for _, item := range items {
		raw, ok := item.(map[string]any)
		if !ok {
			continue
		}
		e := entry{raw: raw}
		e.manager, _ = raw["manager"].(string)
		e.operation, _ = raw["operation"].(string)
		e.apiVersion, _ = raw["apiVersion"].(string)
		e.subresource, _ = raw["subresource"].(string)
		entries = append(entries, e)
	}
	return entries
}

// ownEntries are the entries of managedFields that record our child writes.
func ownEntries(obj *unstructured.Unstructured) []entry {
	return slices.DeleteFunc(entriesOf(obj), func(e entry) bool { return !e.ours() })
}

// entries hashes the content of entries, without their times and their order.
func (h hasher) entries(entries []entry) (uint64, error) {
	var sum uint64
	for _, e := range entries {
		text, err := e.text()
		if err != nil {
			return 0, err
		}
		sum += h.join(maphash.Comparable(h.seed, [...]string{e.operation, e.apiVersion}), maphash.String(h.seed, text))
	}
	return sum, nil
}

// sameEntries says whether two lists of entries have one content, as for hasher.entries.
func sameEntries(as, bs []entry) bool {
	return len(as) == len(bs) && !slices.ContainsFunc(as, func(a entry) bool {
		return !slices.ContainsFunc(bs, a.isSame)
	})
}

func (e entry) isSame(other entry) bool {
	a, err1 := e.text()
	b, err2 := other.text()
	return err1 == nil && err2 == nil && e.operation == other.operation && e.apiVersion == other.apiVersion && a == b
}
