package fieldset

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// The operations of entries in managedFields.
const (
	OperationApply  = "Apply"
	OperationUpdate = "Update"
	// AncientManager is the manager into which the API server folds the oldest Update entries if there are more than
	// ten (apimachinery, pkg/util/managedfields/internal/capmanagers.go).
	AncientManager = "ancient-changes"
)

// Entry is one item of metadata.managedFields.
type Entry struct {
	Manager, Operation, APIVersion, Subresource string
	// Raw is the item itself, not a copy; read-only.
	Raw map[string]any
}

// IsManaged reports whether the name of a field manager of obj contains text, such as a rule's id. It returns true if
// the object has no field managers, because then nothing is known.
func IsManaged(obj *unstructured.Unstructured, text string) bool {
	entries := EntriesOf(obj)
	return len(entries) == 0 || slices.ContainsFunc(entries, func(e Entry) bool { return strings.Contains(e.Manager, text) })
}

// Time returns when the manager last wrote; zero if the entry does not say.
func (e Entry) Time() time.Time {
	text, _ := e.Raw["time"].(string)
	at, _ := time.Parse(time.RFC3339, text)
	return at
}

// Ours reports whether the entry records child writes.
func (e Entry) Ours() bool {
	return e.Manager == Manager && e.Subresource == "" &&
		(e.Operation == OperationApply || e.Operation == OperationUpdate)
}

// IsAncient reports whether the entry may have absorbed an Update entry of ours.
func (e Entry) IsAncient() bool {
	return e.Manager == AncientManager && e.Operation == OperationUpdate && e.Subresource == ""
}

// Text returns the entry's paths as JSON, with sorted keys.
func (e Entry) Text() (string, error) {
	if text, ok := e.Raw["fieldsV1"].(string); ok {
		return text, nil // the form that package watch decodes to
	}
	text, err := MarshalText(e.Raw["fieldsV1"])
	if err != nil {
		return "", fmt.Errorf("encode fieldsV1 of manager %s: %w", e.Manager, err)
	}
	return text, nil
}

// Item returns the entry in the form that the API server accepts.
func (e Entry) Item() map[string]any {
	text, ok := e.Raw["fieldsV1"].(string)
	if !ok {
		return e.Raw
	}
	item := maps.Clone(e.Raw)
	item["fieldsV1"] = json.RawMessage(text)
	return item
}

// Fields decodes the entry's paths.
func (e Entry) Fields() (*fieldpath.Set, error) {
	text, err := e.Text()
	if err != nil {
		return nil, err
	}
	set := &fieldpath.Set{}
	if err := set.FromJSON(strings.NewReader(text)); err != nil {
		return nil, fmt.Errorf("decode fieldsV1 of manager %s: %w", e.Manager, err)
	}
	return set, nil
}

// EntriesOf returns the entries of managedFields in order.
func EntriesOf(obj *unstructured.Unstructured) []Entry {
	metadata, ok := obj.Object["metadata"].(map[string]any)
	if !ok {
		return nil
	}
	items, ok := metadata["managedFields"].([]any)
	if !ok {
		return nil
	}
	entries := make([]Entry, 0, len(items))
	for _, item := range items {
		raw, ok := item.(map[string]any)
		if !ok {
			continue
		}
		e := Entry{Raw: raw}
		e.Manager, _ = raw["manager"].(string)
		e.Operation, _ = raw["operation"].(string)
		e.APIVersion, _ = raw["apiVersion"].(string)
		e.Subresource, _ = raw["subresource"].(string)
		entries = append(entries, e)
	}
	return entries
}

// OwnEntries returns the entries of managedFields that record our child writes.
func OwnEntries(obj *unstructured.Unstructured) []Entry {
	return slices.DeleteFunc(EntriesOf(obj), func(e Entry) bool { return !e.Ours() })
}

// Entries hashes the content of entries, regardless of their times and their order.
func (h Hasher) Entries(entries []Entry) (uint64, error) {
	var sum uint64
	for _, e := range entries {
		text, err := e.Text()
		if err != nil {
			return 0, err
		}
		sum += h.Join(maphash.Comparable(h.Seed, [...]string{e.Operation, e.APIVersion}), maphash.String(h.Seed, text))
	}
	return sum, nil
}

// SameEntries reports whether two lists of entries have the same content, in the sense of Hasher.Entries.
func SameEntries(as, bs []Entry) bool {
	return len(as) == len(bs) && !slices.ContainsFunc(as, func(a Entry) bool {
		return !slices.ContainsFunc(bs, a.isSame)
	})
}

func (e Entry) isSame(other Entry) bool {
	a, err1 := e.Text()
	b, err2 := other.Text()
	return err1 == nil && err2 == nil && e.Operation == other.Operation && e.APIVersion == other.APIVersion && a == b
}

// SameButContent reports whether two states of an object differ only in content that is not ours: they have the same
// metadata except for versions, and the same entries of ours in managedFields, at least one.
func SameButContent(before, after *unstructured.Unstructured) bool {
	own := OwnEntries(after)
	return len(own) > 0 && SameEntries(OwnEntries(before), own) && reflect.DeepEqual(withoutVersions(before), withoutVersions(after))
}

func withoutVersions(obj *unstructured.Unstructured) map[string]any {
	metadata, _ := obj.Object["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	for _, field := range []string{"resourceVersion", "generation", "managedFields"} {
		delete(metadata, field)
	}
	return metadata
}

// Manager is the field manager of child writes, and of nothing else.
const Manager = "kanon"

// PatchPrefix begins the field managers of all patches.
//
// What all parents of one patch set in one object is merged and applied by one field manager. With a manager for each
// parent, every write to an object that five hundred parents patch took the API server more than a second.
const PatchPrefix = "kanon-patch-"

// PatchManager returns the field manager of one patch of a rule, for all its targets. A patch's id has at most 63
// characters, so the name stays below the 128 that the API server allows.
func PatchManager(ruleID, patch string) string { return PatchManagersOf(ruleID) + patch }

// PatchManagersOf returns the prefix of the field managers of a rule's patches.
func PatchManagersOf(ruleID string) string { return PatchPrefix + ruleID + "-" }
