//! Every word the pages say, in both languages: one table, and a text without its translation does not compile. `{}` stands for
//! what is put in by [`fill`].

//= specs/spexus-web.md#languages
//# Every text of a page MUST exist in every language, with the same places for values.
macro_rules! texts {
    ($($name:ident: $english:literal, $russian:literal;)*) => {
        /// The texts of one language.
        #[derive(Debug)]
        pub(crate) struct Texts {
            $(pub(crate) $name: &'static str,)*
        }

        /// In English.
        pub(crate) static ENGLISH: Texts = Texts { $($name: $english,)* };

        /// In Russian.
        pub(crate) static RUSSIAN: Texts = Texts { $($name: $russian,)* };

        #[cfg(test)]
        const TABLE: &[(&str, &str, &str)] = &[$((stringify!($name), $english, $russian),)*];
    };
}

#[rustfmt::skip]
texts! {
    // The frame
    skip: "Skip to content", "К содержанию";
    main_navigation: "Main", "Главное";
    where_you_are: "Where you are", "Где вы";
    menu: "Menu", "Меню";
    home: "Home", "Начало";
    search_or_command: "Search or run a command", "Поиск или команда";
    change_theme: "Change theme", "Сменить тему";
    profile_of: "{}: profile", "{}: профиль";
    sign_out: "Sign out", "Выйти";
    administration: "Administration", "Управление";
    connect_agent: "Connect an agent", "Подключить агента";
    overview: "Overview", "Обзор";
    document: "Document", "Документ";
    tree: "Tree", "Дерево";
    board: "Board", "Доска";
    table: "Table", "Таблица";
    matrix: "Matrix", "Матрица";
    graph: "Graph", "Граф";
    traceability: "Traceability", "Трассировка";
    reviews: "Reviews", "Рецензии";
    baselines: "Baselines", "Базовые версии";
    connection_lost: "The connection is lost. Trying again; nothing you typed is lost.", "Связь потеряна. Пробуем снова; введённое не пропадёт.";
    slow: "This takes longer than usual.", "Это длится дольше обычного.";

    // Signing in
    sign_in: "Sign in", "Войти";
    user_name: "User name", "Имя пользователя";
    password: "Password", "Пароль";
    lead: "What the product must do, and the proof that it does.", "Что продукт обязан делать, и доказательства, что он это делает.";
    signed_out: "You are signed out. What you typed is kept in this browser and will be there.", "Вы вышли. Введённое сохранено в этом браузере и будет на месте.";
    language: "Language", "Язык";
    version: "Spexus {}, your own server", "Spexus {}, ваш сервер";

    // When something is not possible
    not_possible: "This is not possible", "Так нельзя";
    refusal_number: "Refusal {}", "Отказ {}";
    back_home: "Back to the beginning", "К началу";

    // Kinds and fields
    epic: "Epic", "Эпик";
    user_story: "User story", "История";
    acceptance_criterion: "Acceptance criterion", "Критерий приёмки";
    requirement: "Requirement", "Требование";
    steering_document: "Steering document", "Руководящий документ";
    epics: "Epics", "Эпики";
    user_stories: "User stories", "Истории";
    acceptance_criteria: "Acceptance criteria", "Критерии приёмки";
    requirements: "Requirements", "Требования";
    steering_documents: "Steering documents", "Руководящие документы";
    status: "Status", "Статус";
    priority: "Priority", "Приоритет";
    requirement_type: "Type", "Тип";
    owner: "Owner", "Ответственный";
    revision: "Revision", "Ревизия";
    changed: "Changed", "Изменено";
    made: "Made", "Создано";
    nobody: "Nobody", "Никто";
    kind: "Kind", "Вид";
    critical: "Critical", "Критический";
    high: "High", "Высокий";
    medium: "Medium", "Средний";
    low: "Low", "Низкий";

    // Time
    today: "today {}", "сегодня {}";
    yesterday: "yesterday {}", "вчера {}";
    months: "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec", "янв фев мар апр мая июн июл авг сен окт ноя дек";

    // Home and projects
    projects: "Projects", "Проекты";
    no_project: "There is no project you are a member of.", "Нет проектов, в которых вы участвуете.";

    // Table
    title: "Title", "Название";
    creator: "Made by", "Автор";
    links: "Links", "Связи";
    all_items: "All items", "Всё";
    reference: "Ref", "Номер";
    belongs_to: "Belongs to", "Входит в";
    words: "Words", "Слова";
    nothing: "none", "нет";
    filter: "Filter", "Фильтр";
    filters: "Filters", "Фильтры";
    remove_filter: "Remove filter: {}", "Убрать фильтр: {}";
    sort_by: "Sort by", "Порядок";
    group_by: "Group by", "Группы";
    no_groups: "No groups", "Без групп";
    columns: "Columns", "Столбцы";
    show: "Show", "Показать";
    order_made: "Made, oldest first", "Создано, сначала старые";
    order_newest: "Made, newest first", "Создано, сначала новые";
    order_changed: "Changed, newest first", "Изменено, сначала новые";
    order_priority: "Priority", "По приоритету";
    order_title: "Title", "По названию";
    order_status: "Status", "По статусу";
    items_counted: "{} items", "Всего: {}";
    items_shown: "{} on this page", "На странице: {}";
    at_least: "at least {}", "не меньше {}";
    nothing_here: "Nothing fits these filters.", "Под эти фильтры ничего не подходит.";
    pages: "Pages", "Страницы";
    first_page: "First page", "Первая страница";
    next_page: "Next page", "Следующая страница";
    select_all: "Select all on this page", "Выбрать всё на странице";
    change_selected: "Change selected rows", "Изменить выбранные строки";
    field: "Field", "Поле";
    to: "to", "на";
    paste_column: "Paste a column", "Вставить столбец";
    one_value_a_line: "One value a line, for the selected rows from the top", "По значению в строке, для выбранных строк сверху вниз";
    preview: "Preview", "Предпросмотр";
    preview_of: "Preview: {}", "Предпросмотр: {}";
    rows_would_change: "Rows to be changed: {}", "Изменится строк: {}";
    rows_refused: "Rows that cannot be changed: {}", "Нельзя изменить строк: {}";
    change_rows: "Change rows: {}", "Изменить строк: {}";
    not_tried: "not tried: too many others are at fault", "не проверено: слишком много ошибок до этого";
    change_field: "Change: {}", "Изменить: {}";
    field_of: "{} of {}", "{} у {}";
    no_step: "no step leads there", "нет такого шага";
    save: "Save", "Сохранить";
    leave_it: "Leave as it was", "Оставить как было";
    stale_cell: "Not saved, because somebody was quicker: {}. What you entered is still here; saving again puts it over revision {}.", "Не сохранено, кто-то успел раньше: {}. Введённое осталось здесь; повторное сохранение заменит ревизию {}.";
    cell_saved: "{}: {} saved as revision {}", "{}: {} — сохранена ревизия {}";
    rows_changed: "Rows changed: {} ({})", "Изменено строк: {} ({})";
    undo: "Undo", "Отменить";

    // Tree and board
    contents: "Contents", "Содержимое";
    open_item: "Open the item", "Открыть";
    open_or_close: "Open or close", "Раскрыть или закрыть";
    move_node: "Move", "Переместить";
    move_of: "Move {}", "Переместить {}";
    move_up: "Up", "Выше";
    move_down: "Down", "Ниже";
    move_into: "into", "в";
    all_of: "All of {}", "Всё в {}";
    nothing_inside: "There is nothing inside yet.", "Здесь пока ничего нет.";
    change_status: "Change the status", "Изменить статус";
    no_step_from: "No step leads here from {}.", "Сюда нет шага из статуса {}.";
    all_in_table: "All of them in the table", "Все — в таблице";

    // Search, palette and keys
    search: "Search", "Поиск";
    all_projects: "All projects", "Все проекты";
    comment: "Comment", "Комментарий";
    more_here: "More from this project", "Ещё из этого проекта";
    nothing_found: "Nothing was found.", "Ничего не найдено.";
    how_to_search: "Words, beginnings of words, \"phrases in quotes\", or a reference such as REQ-012.", "Слова, начала слов, «фразы» в прямых кавычках или номер, например REQ-012.";
    items: "Items", "Элементы";
    go_to: "Go to", "Перейти";
    own_settings: "Profile and settings", "Профиль и настройки";
    on_this_page: "On this page", "На этой странице";
    all_keys: "All keys", "Все клавиши";
    keys_anywhere: "Anywhere", "Везде";
    keys_rows: "In lists and tables", "В списках и таблицах";
    keys_cell: "In a cell", "В ячейке";
    key_next: "Next, previous", "Следующий, предыдущий";
    key_select: "Select; extend", "Выбрать; продолжить выбор";
    key_edit: "Edit", "Изменить";
    key_fields: "Status, priority, type, owner", "Статус, приоритет, тип, ответственный";
    key_create: "Create here", "Создать здесь";
    key_link: "Link", "Связать";
    key_next_cell: "Save and go to the next cell", "Сохранить и в следующую ячейку";
    key_fill: "Fill down", "Заполнить вниз";
    key_move: "Move into another container", "Переместить в другое место";

    // Matrix and graph
    rows: "Rows", "Строки";
    link: "Link", "Связь";
    any_link: "any", "любая";
    linked: "linked", "связано";
    suspect: "suspect", "под сомнением";
    suspect_link: "suspect link", "сомнительная связь";
    only_gaps: "Only gaps and suspects", "Только пропуски и сомнительные";
    kinds_by_kinds: "{} by {}", "{} и {}";
    matrix_size: "{} of {} rows, {} columns", "Строк: {} из {}, столбцов: {}";
    matrix_cut: "There are more links than one page shows; ask for fewer rows.", "Связей больше, чем помещается на странице; возьмите меньше строк.";
    columns_cut: "Columns that did not fit: {}. Choose a part of the project, or fewer rows.", "Не поместилось столбцов: {}. Выберите часть проекта или меньше строк.";
    turn_matrix: "Swap rows and columns", "Поменять строки и столбцы";
    sum_with_suspect: "{}, suspect: {}", "{}, под сомнением: {}";
    no_link: "No link. Add one", "Связи нет. Добавить";
    confirm_link: "It still holds", "По-прежнему верно";
    end_link: "End the link", "Убрать связь";
    add_link: "Add a link", "Добавить связь";
    back_to_matrix: "Back to the matrix", "К матрице";
    no_links_here: "There is no link.", "Связей нет.";
    around: "Around {}", "Вокруг {}";
    from_item: "From", "От";
    steps: "Steps", "Шаги";
    because: "Because", "Потому что";
    same_as_list: "The same as a list", "То же списком";
    way_both: "both", "и то и другое";
    way_in: "what points to it", "что на него указывает";
    way_out: "what it points to", "на что он указывает";
    layer_self: "This item", "Этот элемент";
    layer_in: "Points to it, steps: {} ({})", "Указывают на него, шагов: {} ({})";
    layer_out: "Pointed to, steps: {} ({})", "Он указывает, шагов: {} ({})";
    steps_in: "{} towards it", "{} к нему";
    steps_out: "{} from it", "{} от него";
    graph_cut: "There is more than 200 items around; take fewer steps or one type of link.", "Вокруг больше 200 элементов; возьмите меньше шагов или один тип связи.";
    graph_begin: "Name the item to begin with; an item's page leads here too.", "Назовите элемент, с которого начать; сюда ведёт и страница элемента.";
}

/// A text with values in place of its `{}`, in order.
pub(crate) fn fill(text: &str, values: &[&dyn std::fmt::Display]) -> String {
    let mut parts = text.split("{}");
    let mut filled = parts.next().unwrap_or_default().to_owned();
    let mut values = values.iter();
    for part in parts {
        if let Some(value) = values.next() {
            filled.push_str(&value.to_string());
        }
        filled.push_str(part);
    }
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    //= specs/spexus-web.md#languages
    //= type=test
    //# Every text of a page MUST exist in every language, with the same places for values.
    #[test]
    fn every_text_has_its_translation_with_the_same_places_for_values() {
        for (name, english, russian) in TABLE {
            assert!(!english.trim().is_empty() && !russian.trim().is_empty(), "{name}");
            assert_eq!(
                english.matches("{}").count(),
                russian.matches("{}").count(),
                "{name}"
            );
            assert!(
                russian
                    .chars()
                    .any(|c| ('а'..='я').contains(&c.to_lowercase().next().unwrap_or(c))),
                "{name}: {russian:?} is not Russian"
            );
        }
    }

    #[test]
    fn values_go_to_their_places() {
        assert_eq!(fill("{} of {}", &[&1, &"two"]), "1 of two");
        assert_eq!(fill("plain", &[&1]), "plain");
    }
}
