// Package keyring has the keys with which Kanon proves that it wrote what it reads.
//
// Labels and annotations can be copied, and anybody who may write an object may put any text into them. So everything
// that Kanon acts on without further proof carries a seal: a keyed digest of a statement, under a key that only Kanon
// can read.
//
//	store := keyring.NewStore(keyring.Options{Client: client, Namespace: "kanon-system", …})
//	go store.Run(ctx)
//	// ... once Changed was called
//	ring := store.Keyring()
//	seal := ring.Seal("the rule 0c41 made ConfigMap team-a/front")
//	ring.Check("the rule 0c41 made ConfigMap team-a/front", seal) // Current
//
// A [Keyring] is a value: it does no input or output. A [Store] keeps one in a Secret in Kanon's namespace, which it
// creates at the first start. The annotation [AnnotationRotate] on that Secret asks for a new key. The previous key
// still proves what was sealed with it, until the next rotation.
package keyring
