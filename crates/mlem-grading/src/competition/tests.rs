use std::collections::HashSet;

use super::*;

#[test]
fn the_table_holds_82_competitions_once_each() {
    let ids: HashSet<&str> = Competition::all().iter().map(|competition| competition.id.as_str()).collect();
    assert_eq!((Competition::all().len(), ids.len()), (82, 82));
    assert!(Competition::find("aerial-cactus-identification").is_some());
    assert!(Competition::find("aerial").is_none());
}

#[test]
fn the_table_is_consistent() {
    for competition in Competition::all() {
        let id = &competition.id;
        assert_eq!(competition.direction, competition.metric.direction(), "{id}");
        assert!(["low", "medium", "high", "dev"].contains(&competition.split.as_str()), "{id}");
        assert!(competition.k.is_some() == (competition.metric == Metric::MapAtK), "{id}");
        assert!(
            competition.checks.contains(&Check::Rows)
                || competition.pairing != Pairing::Ids
                || competition.id == "tensorflow2-question-answering",
            "{id}"
        );
        let compares_ids = competition.checks.iter().any(|check| {
            matches!(check, Check::SameIds | Check::IdSet | Check::IdsSuperset | Check::IdsSubset)
        });
        assert!(compares_ids || competition.pairing != Pairing::Ids, "{id}: ids are paired but not compared");
    }
}

#[test]
fn names_of_metrics_are_found_again() {
    for metric in Metric::ALL {
        assert_eq!(Metric::find(metric.name()), Some(*metric));
    }
    assert_eq!(Metric::find("auc"), None);
}
