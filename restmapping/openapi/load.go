package openapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/openapi"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// load returns the entry of gv. It reads from the server if there is none, or if it was last checked more than maxAge
// ago (a negative maxAge accepts any age). Concurrent callers share one read.
func (s *Published) load(ctx context.Context, gv schema.GroupVersion, maxAge time.Duration) (*entry, error) {
	for {
		if e := s.fresh(gv, maxAge); e != nil {
			return e, nil
		}
		if s.client == nil {
			return s.fixed(gv), nil
		}
		led := false
		result, err, _ := s.flight.Do("document "+gv.String(), func() (any, error) {
			led = true
			return s.refresh(ctx, gv)
		})
		if !led && sharedCancel(ctx, err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("load the OpenAPI schema of %s: %w", gv, err)
		}
		e, ok := result.(*entry)
		if !ok {
			return nil, fmt.Errorf("load the OpenAPI schema of %s: unexpected %T", gv, result)
		}
		return e, nil
	}
}

// fixed returns the entry of gv without asking a server.
func (s *Published) fixed(gv schema.GroupVersion) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.entries[gv]; e != nil {
		return e
	}
	return &entry{}
}

// sharedCancel reports whether a read failed only because the context of another caller, which led it, ended.
func sharedCancel(ctx context.Context, err error) bool {
	return ctx.Err() == nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded))
}

func (s *Published) fresh(gv schema.GroupVersion, maxAge time.Duration) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.entries[gv]
	if !ok || e.checked.IsZero() || (maxAge >= 0 && time.Since(e.checked) >= maxAge) {
		return nil
	}
	return e
}

// refresh reads the index and, if the content hash changed, the document.
func (s *Published) refresh(ctx context.Context, gv schema.GroupVersion) (*entry, error) {
	index, at, err := s.readIndex(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	old := s.entries[gv]
	s.mu.Unlock()
	next := &entry{checked: at}
	if document, ok := index[indexKey(gv)]; ok {
		if old != nil && old.url == document.ServerRelativeURL() {
			next = old.checkedAt(at)
		} else if next, err = s.read(ctx, document, at); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries[gv] = next
	return next, nil
}

// readIndex returns the index and when it was requested. Group-versions that are loaded together share one read.
func (s *Published) readIndex(ctx context.Context) (map[string]openapi.GroupVersionWithContext, time.Time, error) {
	for {
		s.mu.Lock()
		index, at := s.index, s.indexed
		s.mu.Unlock()
		if index != nil && time.Since(at) < recheckInterval {
			return index, at, nil
		}
		led := false
		_, err, _ := s.flight.Do("index", func() (any, error) {
			led = true
			at := time.Now()
			index, err := s.client.PathsWithContext(ctx)
			if err != nil {
				return nil, fmt.Errorf("read the index /openapi/v3: %w", err)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			s.index, s.indexed = index, at
			return nil, nil
		})
		if err != nil && (led || !sharedCancel(ctx, err)) {
			return nil, time.Time{}, err
		}
	}
}

func indexKey(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "api/" + gv.Version
	}
	return "apis/" + gv.Group + "/" + gv.Version
}

func (s *Published) read(ctx context.Context, document openapi.GroupVersionWithContext, at time.Time) (*entry, error) {
	e := &entry{url: document.ServerRelativeURL(), checked: at, known: &sync.Map{}}
	text, err := document.SchemaWithContext(ctx, runtime.ContentTypeJSON)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", e.url, err)
	}
	if e.converter, err = newConverter(text); err != nil {
		return nil, fmt.Errorf("read %s: %w", e.url, err)
	}
	e.kinds, e.kindsErr = s.kinds.FromDocument(text)
	return e, nil
}

func newConverter(text []byte) (managedfields.TypeConverter, error) {
	var content struct {
		Components struct {
			Schemas map[string]*spec.Schema `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(text, &content); err != nil {
		return nil, fmt.Errorf("decode it: %w", err)
	}
	converter, err := managedfields.NewTypeConverter(content.Components.Schemas, false)
	if err != nil {
		return nil, fmt.Errorf("convert it: %w", err)
	}
	return converter, nil
}
