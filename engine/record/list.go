package record

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/engine/source"
)

// Listed is a record for a reader who bases no decision on it: its seal is not checked.
type Listed struct {
	Record
	// ID is the rule's id.
	ID string
	// Created is when the record was created.
	Created time.Time
	// Annotations are what people ask for about a rule in a file.
	Annotations source.Annotations
}

// List reads the records in Kanon's namespace once. It skips those that cannot be decoded, as a Store does.
func List(ctx context.Context, client dynamic.Interface, namespace string) ([]Listed, error) {
	objects, err := requests{client: client, namespace: namespace}.list(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the records of rules: %w", err)
	}
	var found []Listed
	for i := range objects {
		id, ok := strings.CutPrefix(objects[i].GetName(), NamePrefix)
		if !ok {
			continue
		}
		if r, _, err := read(&objects[i]); err == nil {
			found = append(found, Listed{Record: r, ID: id, Created: objects[i].GetCreationTimestamp().Time, Annotations: source.AnnotationsOf(&objects[i])})
		}
	}
	return found, nil
}
