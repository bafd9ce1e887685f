package watch

import (
	"sync"
	"unique"
	"unsafe"

	"github.com/klauspost/compress/s2"
)

const (
	// manyAlike is how many texts of a template are seen before a dictionary is made for it. A dictionary takes as much
	// memory as about twenty texts. If as many texts in a row have too little in common with the dictionary, it is
	// replaced.
	manyAlike = 100
	// maxTemplates is how many templates one Packer distinguishes.
	maxTemplates = 16
	// maxPacked is the size in bytes up to which a text is packed. Larger ones are slow to unpack.
	maxPacked = 64 << 10
)

// content is the text of an object. If it has a dictionary, data is the text compressed with it.
type content struct {
	data       string
	dictionary *s2.Dict
}

func (c content) text() string {
	if c.dictionary == nil {
		return c.data
	}
	buffer, _ := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	text, err := c.dictionary.Decode((*buffer)[:cap(*buffer)], []byte(c.data))
	if err != nil {
		panic("wire: a text that was packed is broken: " + err.Error())
	}
	*buffer = text
	return string(text)
}

// Packer compresses the texts of objects that are kept. Objects that were rendered from one template have the same
// managedFields, and differ in names, UIDs and a few values. So the text of one of them serves as the dictionary for the
// others: two KiB become about 300 bytes. The zero value is ready. A Packer is safe for concurrent use.
type Packer struct {
	mu        sync.Mutex
	templates map[template]*alike // guarded by mu
}

// template identifies a template: by how many managers its objects have, and by the paths of the first.
type template struct {
	managers int
	paths    unique.Handle[string]
}

// alike is what is known of a template.
type alike struct {
	dictionary *s2.Dict // nil until enough texts were seen
	// unpacked counts the texts in a row that were not compressed.
	unpacked int
}

// Pack returns the object in less memory, if that is possible. Each decoding of it takes about a microsecond more per KiB.
func (p *Packer) Pack(o *Object) *Object {
	if o == nil || o.tree != nil || o.content.dictionary != nil || len(o.content.data) > maxPacked || len(o.paths) == 0 {
		return o
	}
	packed := p.pack(template{len(o.paths), o.paths[0].before}, o.content.data)
	if packed.dictionary == nil {
		return o
	}
	small := &Object{
		typeMeta: o.typeMeta, namespace: o.namespace, name: o.name, uid: o.uid, version: o.version, paths: o.paths, content: packed, marking: o.marking, tag: o.tag,
	}
	small.meta.at.Store(o.meta.at.Load())
	return small
}

// pack compresses the text of an object of a template. The result has no dictionary if that is not worth it.
func (p *Packer) pack(of template, text string) content {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.templates[of]
	if a == nil {
		p.makeRoom()
		a = &alike{}
		p.templates[of] = a
	}
	if a.dictionary != nil {
		if c := packedBy(a.dictionary, text); len(c.data) <= len(text)*3/4 {
			a.unpacked = 0
			return c
		}
	}
	if a.unpacked++; a.unpacked >= manyAlike {
		*a = alike{dictionary: s2.MakeDict([]byte(text), nil)}
	}
	return content{data: text}
}

// makeRoom forgets the template of which the fewest texts were seen, if there are too many. Objects that are packed keep
// their dictionary.
func (p *Packer) makeRoom() {
	if p.templates == nil {
		p.templates = map[template]*alike{}
	}
	if len(p.templates) < maxTemplates {
		return
	}
	fewest, least := template{}, manyAlike+1
	for of, a := range p.templates {
		if texts := a.texts(); texts < least {
			fewest, least = of, texts
		}
	}
	delete(p.templates, fewest)
}

// texts returns how many texts were seen, up to as many as are enough for a dictionary.
func (a *alike) texts() int {
	if a.dictionary != nil {
		return manyAlike
	}
	return a.unpacked
}

func packedBy(dictionary *s2.Dict, text string) content {
	buffer, _ := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	source := unsafe.Slice(unsafe.StringData(text), len(text)) // Encode only reads it
	*buffer = dictionary.Encode((*buffer)[:cap(*buffer)], source)
	return content{string(*buffer), dictionary}
}
