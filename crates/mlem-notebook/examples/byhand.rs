use std::{env,fs,path::Path,time::Instant};
use mlem_notebook::*;
fn main(){
  let mode=env::args().nth(1).unwrap(); let dir=env::args().nth(2).unwrap();
  let (mut n,mut same,mut bytes)=(0,0,0); let (mut v3,mut v4)=(0,0);
  let t=Instant::now();
  for e in fs::read_dir(dir).unwrap(){ let p=e.unwrap().path(); if p.extension().is_none_or(|x|x!="ipynb"){continue}
    n+=1;
    let nb=match Notebook::read(&p){Ok(n)=>n,Err(e)=>{println!("ERR {e}");continue}};
    if nb.nbformat().0==3 {v3+=1}else{v4+=1}
    match mode.as_str(){
     "read"=>{},
     "identity"=>{let raw=fs::read(&p).unwrap(); bytes+=raw.len(); if nb.to_text().as_bytes()==raw{same+=1}else{println!("DIFF {p:?}")}
        // set every source to itself + back
        let mut nb2=nb.clone(); let srcs:Vec<_>=nb.cells().iter().map(|c|c.source.clone()).collect();
        for (i,s) in srcs.iter().enumerate(){ nb2.set_source(CellIndex(i), &format!("{s}\n# é 😀 edit")); }
        let edited=Notebook::parse(nb2.to_text(),&p).unwrap();
        for (i,s) in srcs.iter().enumerate(){ assert_eq!(edited.cells()[i].source, format!("{s}\n# é 😀 edit"),"{p:?}"); assert_eq!(edited.cells()[i].outputs(),nb.cells()[i].outputs()); }
        for (i,s) in srcs.iter().enumerate(){ nb2.set_source(CellIndex(i), s); }
        assert!(nb2.to_text().as_bytes()==raw);
        for (i,c) in nb.cells().iter().enumerate(){ if c.is_code(){ nb2.set_outputs(CellIndex(i), Some(7), &c.outputs()); } nb2.set_cell_metadata(CellIndex(i),"mlem",serde_json::json!({"a":[1]})); }
        nb2.set_kernel(serde_json::json!({"name":"python3","display_name":"Python 3","language":"python"}), serde_json::json!({"name":"python","version":"3.11"}));
        let again=Notebook::parse(nb2.to_text(),&p).unwrap();
        for (a,b) in again.cells().iter().zip(nb.cells()){ let fix=|o:Vec<Output>|o; assert_eq!(fix(a.outputs()),fix(b.outputs()),"{p:?}"); assert_eq!(a.source,b.source); }
     },
     "upgrade"=>{ let mut nb=nb; if nb.upgrade(){ fs::write(Path::new("/tmp/mlem/up").join(p.file_name().unwrap()), nb.to_text()).unwrap(); same+=1 } },
     "percent"|"nbconvert"=>{ let mut nb=nb; nb.upgrade(); let text=if mode=="percent"{nb.to_percent()}else{nb.to_nbconvert()};
        let back=Notebook::from_script(&text,&p);
        let a:Vec<_>=nb.cells().iter().filter(|c|mode=="percent"||c.kind!=CellKind::Raw).map(|c|(c.kind,c.source.clone())).collect();
        let b:Vec<_>=back.cells().iter().map(|c|(c.kind,c.source.clone())).collect();
        if a==b{same+=1}else{ println!("DIFF {p:?} {} {}",a.len(),b.len()); for (x,y) in a.iter().zip(&b){ if x!=y{ println!("  {x:?}\n  {y:?}"); break } } }
        fs::write(Path::new("/tmp/mlem/up").join(p.file_name().unwrap()).with_extension(if mode=="percent"{"percent.py"}else{"py"}), text).unwrap(); },
     _=>panic!() } }
  println!("{n} notebooks (v3 {v3}, v4 {v4}), ok {same}, {bytes} bytes, {:?}",t.elapsed());
}
