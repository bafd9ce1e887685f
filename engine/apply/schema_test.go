package apply

import (
	"hash/maphash"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply/applytest"
	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/apply/server"
)

// offline returns a Writer for what sends no request.
func offline(tb testing.TB) *Writer {
	tb.Helper()
	seed := maphash.MakeSeed()
	return &Writer{
		Server: server.New(nil, &applytest.FakeSchemas{Known: applytest.Converter(tb, applytest.Schemas)}, nil),
		claims: claims{
			marks:  testMarks(),
			nameOf: func(id string) string { return "named-" + id },
			isGone: func(mark.Owner) bool { return false },
		},
		seed:   seed,
		shapes: fieldset.Shapes{Seed: seed},
		known:  map[types.UID]inSyncState{},
	}
}

// object reads YAML.
func object(tb testing.TB, text string) *unstructured.Unstructured {
	tb.Helper()
	return applytest.Object(tb, text)
}
