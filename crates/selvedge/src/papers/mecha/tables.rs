//! Tables of what was found, for a person.

use broker::simulation::sharing::Sharing;
use report::paper::PaperRow;
use report::row::Value;
use report::table::{Column, Entry, Table};

use super::explain::Explained;
use super::sweep::{
    DATA_BYTES, DEVICES, Gain, OPENS_MS, PDU_BYTES, Swept, length, name, preset, timer, work,
};
use super::witness::Witnessed;

/// All of them.
pub fn all(swept: &Swept, explained: &[Explained], witnessed: &[Witnessed], rows: &[PaperRow]) -> Vec<Table> {
    let mut tables = vec![of_printed(rows), of_figure(swept), of_settings(explained), of_goals(swept)];
    tables.extend(of_lengths(swept));
    tables.push(of_opens(swept));
    tables.push(of_witness(witnessed));
    tables.retain(|table| table.line_count() > 0);
    tables
}

/// What is printed, beside ours with the preset's settings.
pub fn of_printed(rows: &[PaperRow]) -> Table {
    let columns = ["case", "what", "unit", "printed", "ours", "verdict"].map(Column::new);
    let mut table = Table::new("What the paper's text prints, beside ours", columns);
    for row in rows.iter().filter(|row| row.table() == "figure-5") {
        let Some(printed) = row.printed() else { continue };
        let ours = row.ours().and_then(Value::number);
        table.push([
            row.case().into(),
            row.metric().into(),
            row.unit().into(),
            Entry::Literal(printed.literal().to_owned()),
            ours.map_or(Entry::Blank, |ours| Entry::Literal(format!("{ours:.2}"))),
            Entry::Verdict(row.verdict()),
        ]);
    }
    table
}

/// Figure 5.
pub fn of_figure(swept: &Swept) -> Table {
    let times = Sharing::ALL.map(|sharing| Column::new(name(sharing)).unit("s").decimals(3));
    let columns = [Column::new("applications")].into_iter().chain(times);
    let columns = columns.chain([Column::new("less time than re-open").unit("%").decimals(1)]);
    let mut table = Table::new("Figure 5: 64 KiB of each application, SEND_IMMEDIATE", columns);
    for (count, times) in swept.figure(DEVICES[0]) {
        let [theirs, .., ours] = times;
        let less = 100.0 * (1.0 - ours / theirs);
        let entries = times.into_iter().chain([less]).map(Entry::from);
        table.push([count.into()].into_iter().chain(entries));
    }
    table
}

/// The rows have all of them.
const SETTINGS_SHOWN: usize = 12;

/// The settings that come near both printed numbers, the nearest first.
pub fn of_settings(explained: &[Explained]) -> Table {
    let percent = |name: &str| Column::new(name).unit("%").decimals(1);
    let open = |name: &str| Column::new(name).unit("ms").decimals(0);
    let columns = [
        Column::new("device"),
        Column::new("requests"),
        Column::new("broker"),
        open("re-open cost"),
        percent("less time"),
        percent("more rate"),
        open("cost for less time"),
        open("cost for more rate"),
    ];
    let title = "Settings that give the printed numbers, the nearest to both first";
    let mut table = Table::new(title, columns);
    let mut sorted = explained.to_vec();
    sorted.sort_by(|a, b| a.off().total_cmp(&b.off()));
    for explained in sorted.into_iter().take(SETTINGS_SHOWN) {
        let Explained { device, pdu_bytes, broker, fit, opens_ms } = explained;
        let of_fit =
            |value: fn(super::explain::Fit) -> f64| fit.map_or(Entry::Blank, |fit| value(fit).into());
        let [less, more] = opens_ms.map(|open_ms| open_ms.map_or(Entry::Blank, Entry::from));
        table.push([
            timer(device).into(),
            length(pdu_bytes).into(),
            name(broker).into(),
            of_fit(|fit| 1000.0 * fit.open.as_secs_f64()),
            of_fit(|fit| 100.0 * fit.less_time),
            of_fit(|fit| 100.0 * fit.more_rate),
            less,
            more,
        ]);
    }
    table
}

/// What this broker gains over those that wait for each answer.
pub fn of_goals(swept: &Swept) -> Table {
    let columns = [
        Column::new("80 applications, SEND_IMMEDIATE"),
        Column::new("value").decimals(2),
        Column::new("possible").decimals(2),
        Column::new("part of it").unit("%").decimals(2),
        Column::new("wanted").unit("%"),
    ];
    let mut table = Table::new("What the wire's time is used for", columns);
    for gain in Gain::all(swept) {
        let what = format!("requests of {}: times as many as {}", length(gain.pdu_bytes), name(gain.over));
        let share = 100.0 * gain.share();
        table.push([what.into(), gain.times.into(), gain.possible.into(), share.into(), 90_usize.into()]);
    }
    if let Some(took) = swept.took(DEVICES[0], Sharing::Gathered, work(80, DATA_BYTES), None) {
        for (share, what) in took.clocks.shares().into_iter().zip(["requests", "answers"]) {
            let words = format!("64 KiB: cycles of the clock with bytes of {what}");
            table.push([words.into(), Entry::Blank, Entry::Blank, (100.0 * share).into(), 97_usize.into()]);
        }
    }
    table
}

/// What the length of requests decides, for each latency timer.
pub fn of_lengths(swept: &Swept) -> Vec<Table> {
    DEVICES.into_iter().map(|device| of_length(swept, device)).collect()
}

fn of_length(swept: &Swept, device: &str) -> Table {
    let times = Sharing::ALL.map(|sharing| Column::new(name(sharing)).unit("s").decimals(3));
    let opens = Column::new("opens per request, re-open").decimals(4);
    let transactions = [Sharing::Locked, Sharing::OneByOne, Sharing::Gathered];
    let columns = [Column::new("applications"), Column::new("requests")].into_iter().chain(times);
    let columns = columns.chain([opens]).chain(
        transactions
            .map(|sharing| Column::new(format!("transactions per request, {}", name(sharing))).decimals(2)),
    );
    let title = format!(
        "64 KiB of each application in shorter requests, {}, re-open cost {} ms",
        timer(device),
        preset(device).open.as_millis()
    );
    let mut table = Table::new(title, columns);
    for count in [5, 20, 80] {
        for pdu_bytes in PDU_BYTES {
            let work = work(count, pdu_bytes);
            let requests = (work.count * work.requests) as f64;
            let took = |sharing| swept.took(device, sharing, work, None);
            let Some(times) = Sharing::ALL.map(took).into_iter().collect::<Option<Vec<_>>>() else {
                continue;
            };
            let mut line = vec![count.into(), length(pdu_bytes).into()];
            line.extend(times.iter().map(|took| Entry::from(took.time.as_secs_f64())));
            line.push((times[0].clocks.opens as f64 / requests).into());
            line.extend(
                times[1..].iter().map(|took| Entry::from(took.clocks.transactions as f64 / requests)),
            );
            table.push(line);
        }
    }
    table
}

/// What the re-open cost decides, for each latency timer.
pub fn of_opens(swept: &Swept) -> Table {
    let columns = [Column::new("re-open cost").unit("ms"), Column::new("applications")].into_iter();
    let columns = columns.chain(DEVICES.into_iter().flat_map(|device| {
        let percent = Column::new(format!("less time, {}", timer(device))).unit("%").decimals(1);
        [Column::new(format!("saved, {}", timer(device))).unit("s").decimals(2), percent]
    }));
    let title = "What this broker saves over re-opening, by what that costs: 64 KiB of each in one request";
    let mut table = Table::new(title, columns);
    for ms in OPENS_MS {
        for count in super::explain::COUNTS {
            let work = work(count, DATA_BYTES);
            let mut line = vec![Entry::from(ms as usize), count.into()];
            for device in DEVICES {
                let open = Some(std::time::Duration::from_millis(ms));
                let theirs = swept.time_s(device, Sharing::Reopened, work, open);
                let ours = swept.time_s(device, Sharing::Gathered, work, None);
                let both = theirs.zip(ours);
                line.push(both.map_or(Entry::Blank, |(theirs, ours)| (theirs - ours).into()));
                line.push(both.map_or(Entry::Blank, |(theirs, ours)| (100.0 * (1.0 - ours / theirs)).into()));
            }
            if line.iter().skip(2).any(|entry| *entry != Entry::Blank) {
                table.push(line);
            }
        }
    }
    table
}

/// What processes say.
pub fn of_witness(witnessed: &[Witnessed]) -> Table {
    let columns = [
        Column::new("applications"),
        Column::new("requests"),
        Column::new("shared by"),
        Column::new("wall time").unit("s").decimals(3),
        Column::new("simulated").unit("s").decimals(3),
        Column::new("apart").unit("%").decimals(1),
        Column::new("agree"),
        Column::new("context switches per request").decimals(2),
        Column::new("wake-ups per request").decimals(2),
        Column::new("opens per request").decimals(4),
    ];
    let title = format!("The same by processes; apart by at most {:.0} %", 100.0 * super::witness::TOLERANCE);
    let mut table = Table::new(title, columns);
    for found in witnessed {
        table.push([
            found.work.count.into(),
            length(found.work.pdu_bytes).into(),
            name(found.sharing).into(),
            found.time_s.into(),
            found.simulated_s.into(),
            (100.0 * found.off()).into(),
            if found.agrees() { "yes" } else { "NO" }.into(),
            found.switches.into(),
            found.wake_ups.into(),
            found.opens.into(),
        ]);
    }
    table
}
