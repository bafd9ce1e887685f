package livediff

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/identity"
)

// applied returns the live object as it is after its managedFields become entries and a manager applies content. The
// API server's own code computes it.
func (d *Differ) applied(ctx context.Context, live *unstructured.Unstructured, entries []any, manager string, content map[string]any) (*unstructured.Unstructured, error) {
	kinds, err := d.previewer.Kinds()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(entries)
	if err != nil {
		return nil, fmt.Errorf("encode managedFields of %s: %w", identity.Of(live), err)
	}
	var plain []any
	if err := utiljson.Unmarshal(text, &plain); err != nil {
		return nil, fmt.Errorf("decode managedFields of %s: %w", identity.Of(live), err)
	}
	before := &unstructured.Unstructured{Object: maps.Clone(live.Object)}
	metadata, _ := before.Object["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	metadata["managedFields"], before.Object["metadata"] = plain, metadata
	return kinds.Applied(ctx, before, manager, content)
}

func untyped(kind fieldset.Kind, value *typed.TypedValue) (*unstructured.Unstructured, error) {
	object, err := kind.Converter.TypedToObject(value)
	if err != nil {
		return nil, err
	}
	next, ok := object.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("the merged object is a %T", object)
	}
	return next, nil
}
