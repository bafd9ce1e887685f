package mark

import (
	"encoding/json"
	"testing"
)

func ownerTexts(tb testing.TB) map[string]ownerRecord {
	tb.Helper()
	parent := Ref{Group: "shop.example.com", Kind: "WebApp", Namespace: "team-a", Name: "front", UID: "0b5c"}
	texts := map[string]ownerRecord{}
	for _, record := range []ownerRecord{
		{Owner: Owner{RuleID: "01", Rule: "kanon-system/webapp", Node: "config", Parent: parent}, Child: Ref{Kind: "ConfigMap", Namespace: "team-a", Name: "front"}},
		{Owner: Owner{Node: "config", Parent: Ref{Kind: "Node", Name: "n"}, Tracked: true, Retain: "Always"}, Child: Ref{Group: "apps", Kind: "Deployment", Name: "d", UID: "7"}},
	} {
		text, err := json.Marshal(record)
		if err != nil {
			tb.Fatal(err)
		}
		texts[string(text)] = record
	}
	return texts
}

// What we write is read without encoding/json.
func TestOwnOwner(t *testing.T) {
	t.Parallel()
	for text, want := range ownerTexts(t) {
		if got, ok := parseOwnOwner(text); !ok || got != want {
			t.Errorf("%s is read as %v, %v", text, got, ok)
		}
	}
}

func FuzzOwner(f *testing.F) {
	for text := range ownerTexts(f) {
		f.Add(text)
	}
	for _, text := range []string{
		`{"child":{"kind":"A"},"id":"x"}`, `{"id":"\u0041","rule":"é","node":"","parent":{"kind":"","name":""},"child":{"kind":"","name":""}}`,
		`{"id":"a","rule":"","node":"","parent":{"kind":"","name":""},"child":{"kind":"","name":""}} `, `{}`, `null`, `{"id":7}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var want ownerRecord
		err := json.Unmarshal([]byte(text), &want)
		got, ok := parseOwner(text)
		if ok != (err == nil) || ok && got != want {
			t.Errorf("%q is read as %v, %v; by encoding/json as %v, %v", text, got, ok, want, err)
		}
	})
}
